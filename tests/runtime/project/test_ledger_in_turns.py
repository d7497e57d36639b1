"""The ledger of a turn: which item has which status when, and what else the timeline says of a plan."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.runtime.project.desk import agent, calls, says
from tests.runtime.project.test_workflow_in_turns import LARGE, UNCLEAR

from holdfast.models import CompletionResponse, Message, ScriptedBackend, Tool
from holdfast.runtime import Agent, AgentConfig, WorkflowLedgerItem
from holdfast.runtime.turn.loop import TurnEvent
from holdfast.runtime.workflow.plan import steps_in

WRITE = calls("write", file_path="a", content="x")


def statuses(items: Sequence[WorkflowLedgerItem]) -> list[str]:
    return [item.status for item in items]


class ObservantBackend(ScriptedBackend):
    """A scripted model that looks at the conversation's file whenever it is asked."""

    path: Path
    seen: list[str]

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), **options: Any
    ) -> CompletionResponse:
        kept = json.loads(self.path.read_text())
        self.seen.append(f"{kept['active_turn_phase']}: {kept['last_turn_transition_summary']}")
        return await super().complete(messages, tools, **options)


async def test_each_phase_is_on_the_disk_while_it_lasts(tmp_path: Path) -> None:
    backend = ObservantBackend([WRITE, says("Done.")])
    made = Agent(backend, AgentConfig(auto_context=False, stream=False), tmp_path)
    assert made.session.storage_path is not None
    backend.path, backend.seen = made.session.storage_path, []
    await made.run("Write it.")
    assert backend.seen == [
        "assistant: prepare -> assistant [normal] the model is asked",
        "assistant: tools -> assistant [normal] the model is told what they gave",
    ]


async def test_work_that_is_cut_short_by_the_limit_contradicts_nothing(tmp_path: Path) -> None:
    made = agent(tmp_path, WRITE, max_iterations=1)
    await made.run("Write it.")
    (anchor,) = made.session.workflow_ledger.acceptance_anchors
    assert (anchor.status, anchor.evidence) == ("active", ["test -f a: exit code 0"])
    other = agent(tmp_path, calls("read", file_path="a"), max_iterations=1)
    await other.run("Read it.")
    assert statuses(other.session.workflow_ledger.acceptance_anchors) == ["open"]


async def test_what_fails_its_check_is_contradicted_also_at_the_limit(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", file_path="a.py", content="x ="), max_iterations=1)
    await made.run("Write it.")
    assert statuses(made.session.workflow_ledger.acceptance_anchors) == ["contradicted"]


async def test_an_anchor_is_active_once_something_was_changed(tmp_path: Path) -> None:
    made = agent(tmp_path, WRITE, says("Done."))
    seen: list[str] = []

    def tell(event: TurnEvent) -> None:
        seen.extend(statuses(made.session.workflow_ledger.acceptance_anchors))

    await made.run("Write it.", tell=tell)
    assert list(dict.fromkeys(seen)) == ["open", "active"]
    assert statuses(made.session.workflow_ledger.acceptance_anchors) == ["tracked"]


async def test_what_the_user_says_meanwhile_changes_what_the_work_is_measured_by(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("read", file_path="b"), says("Done."))
    seen: list[WorkflowLedgerItem] = []

    def tell(event: TurnEvent) -> None:
        made.queue_steering_message("Write it to b instead.")
        seen.extend(made.session.workflow_ledger.acceptance_anchors)

    await made.run("Write it.", tell=tell)
    assert [(item.evidence, item.updated_phase) for item in seen if item.status == "changed"][:1] == [
        (["Write it to b instead.", "Write it to b instead."], "assistant")
    ]


async def test_a_request_that_is_clarified_changes_and_at_last_goes_on_as_it_is(tmp_path: Path) -> None:
    made = agent(tmp_path, says("I can do that. What exactly? By when?"), says("What else?"), says("Done."))
    await made.run(UNCLEAR)
    assert made.session.workflow_timeline[0].unresolved_questions == []
    assert statuses(made.session.workflow_ledger.acceptance_anchors) == ["open"]
    assert made.session.workflow_ledger.assumptions == []
    boundaries = [item.text for item in made.session.workflow_ledger.decision_boundaries]
    assert "nothing is changed before the user has answered" in boundaries
    await made.run(f"{UNCLEAR} Somehow.")
    (anchor,) = made.session.workflow_ledger.acceptance_anchors
    assert (anchor.status, anchor.evidence) == ("changed", [" ".join(UNCLEAR.split())])
    await made.run(f"{UNCLEAR} Whatever.")
    entry = next(each for each in made.session.workflow_timeline if each.kind == "clarify_exit")
    assert (entry.decision_kind, entry.reason_code, entry.mode) == ("forced", "clarified_enough", "execute")
    assert entry.unresolved_questions == ["What else?"]
    before = next(each for each in made.session.workflow_timeline if each.kind == "clarify_continue")
    assert before.unresolved_questions == ["What exactly?", "By when?"]
    (assumption,) = made.session.workflow_ledger.assumptions
    assert (assumption.status, assumption.introduced_phase) == ("tracked", "prepare")
    assert "vague words" in assumption.text


async def test_work_that_goes_on_assumes_that_what_it_changed_stands(tmp_path: Path) -> None:
    await agent(tmp_path, WRITE, max_iterations=1).run("Write it.")
    made = agent(tmp_path, says("Done."))
    seen: list[WorkflowLedgerItem] = []
    await made.run("Write it.", tell=lambda event: seen.extend(made.session.workflow_ledger.assumptions))
    assert (seen[0].text, seen[0].status) == ("what was changed before still stands: a", "open")
    assert statuses(made.session.workflow_ledger.assumptions) == ["tracked"]


async def test_what_the_user_decides_is_a_boundary(tmp_path: Path) -> None:
    rules = tmp_path / ".holdfast" / "permission-rules.json"
    rules.parent.mkdir()
    rules.write_text('{"deny":[{"tool":"bash"}]}')
    made = agent(tmp_path, says("Hi."), calls("write", file_path="a", content="x"), says("No."))
    await made.run("Say hi.")
    mode, denied = made.session.workflow_ledger.decision_boundaries
    assert (mode.text, mode.status) == ("nothing that goes beyond workspace-write is done without the user", "active")
    assert (denied.text, denied.status) == ("the project's rules deny 1 things and ask about 0", "active")
    made.set_permission_mode("read-only")
    seen: list[WorkflowLedgerItem] = []
    await made.run("Write it.", tell=lambda event: seen.extend(made.session.workflow_ledger.decision_boundaries))
    assert (seen[0].text, seen[0].status) == ("nothing that goes beyond read-only is done without the user", "changed")
    assert seen[0].evidence == [mode.text]
    mode, denied = made.session.workflow_ledger.decision_boundaries
    assert (mode.status, mode.updated_phase, denied.status) == ("tracked", "tools", "tracked")
    assert "write: error: not permitted" in mode.evidence[-1]


async def test_a_plan_and_a_new_plan_are_in_the_timeline(tmp_path: Path) -> None:
    plan = calls("read", "1. Move it.\n2. Migrate it.", file_path="a")
    made = agent(tmp_path, plan, plan, calls("read", "1) Move it. 2) Test it. 3) Done.", file_path="a"), says("Done."))
    await made.run(LARGE)
    found = [each for each in made.session.workflow_timeline if each.kind == "plan_refresh"]
    assert [(each.mode, each.reason_code, each.summary) for each in found] == [
        ("plan", "plan_stated", "the plan has 2 steps"),
        ("plan", "plan_changed", "the plan has 3 steps"),
    ]
    assert made.last_turn_summary is not None
    done = made.last_turn_summary.definition_of_done
    assert done.completed_items == [*done.acceptance_criteria, "Move it.", "Test it.", "Done."]


def test_steps_are_numbered_from_one_without_a_gap() -> None:
    assert steps_in("First:\n1. a b\n2. c\n\nThen 3.5 of 4.") == ["a b", "c"]
    assert steps_in("1. a") == []
    assert steps_in("See 2. and 3. of it") == []
    assert steps_in("") == []
