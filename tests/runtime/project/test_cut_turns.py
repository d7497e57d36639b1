"""Turns that were cut off: what is kept of them, and what a tool that may have run means for the next one."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.project.desk import agent, calls, says, script
from tests.support.processes import PATIENCE, spawn

from holdfast.core.errors import NotFound
from holdfast.models import CompletionResponse, Message, ModelUnreachable, Role, ScriptedBackend, ToolCall
from holdfast.runtime import Agent, ConversationSession, file_tools
from holdfast.runtime.project.session_effects import MAY_HAVE_RUN, SessionEffects
from holdfast.runtime.turn.loop import ToolBegun, ToolEnded, TurnEvent
from holdfast.runtime.turn.tool_runs import KnownCall
from holdfast.runtime.workspace import append_line, write_text

APPEND = calls("append_file", file_path="log.txt", text="once")


class Killed(BaseException):
    """Stands for a process that dies: nothing after it is written."""


async def test_an_error_of_the_model_leaves_the_conversation_as_far_as_it_came(tmp_path: Path) -> None:
    class Broken(ScriptedBackend):
        def _next_completion(self) -> object:  # type: ignore[override]
            raise ModelUnreachable("no answer")

    made = agent(tmp_path)
    made.backend = Broken()
    with pytest.raises(ModelUnreachable):
        await made.run("Hello.")
    assert [message.text for message in made.messages] == ["Hello."]
    assert made.session.last_turn_transition_summary == (
        "assistant -> finalize [recovery] the turn was cut off: ModelUnreachable"
    )
    assert made.session.usage_totals["turns"] == 1
    made.backend = ScriptedBackend([says("Hi.")])
    assert (await made.run("Hello.")).startswith("Hi.")


def die_while_it_runs(root: str, storage: str = "file") -> None:
    """Run a turn in this process, which ends while the tool has run and nobody has written that down."""

    def write_and_die(workspace: Path, path: str, line: str) -> None:
        write_text(workspace, path, f"{line}\n")
        os._exit(9)

    pytest.MonkeyPatch().setattr(file_tools, "append_line", write_and_die)
    made = agent(Path(root), APPEND, says("Done."), storage=storage)
    asyncio.run(made.run("Append it."))


def test_an_effect_whose_end_is_not_known_is_shown_and_not_run_again(tmp_path: Path) -> None:
    process = spawn(die_while_it_runs, str(tmp_path))
    process.join(PATIENCE)
    assert process.exitcode == 9
    assert (tmp_path / "log.txt").read_text() == "once\n"
    (stored,) = (tmp_path / ".holdfast" / "sessions").glob("*.json")
    made = agent(tmp_path, says("It may be there."))
    assert made.resume_session(json.loads(stored.read_text())["session_id"])
    (left,) = made.unresolved_effects
    assert (left.tool, left.shown) == ("append_file", '{"file_path":"log.txt","text":"once"}')
    asyncio.run(made.run("Go on."))
    assert (tmp_path / "log.txt").read_text() == "once\n"
    asked = script(made).invocations[0].messages
    assert '- append_file {"file_path":"log.txt","text":"once"}' in asked[0].text
    assert asked[3].role == Role.TOOL
    assert asked[3].text == "error: the process ended while this ran: it may have run, and was not run again"
    assert made.unresolved_effects == [left]


@pytest.mark.parametrize("ran", [True, False])
@pytest.mark.parametrize("storage", ["file", "store"])
def test_an_effect_that_the_user_settles_is_unresolved_no_more(tmp_path: Path, storage: str, ran: bool) -> None:
    process = spawn(die_while_it_runs, str(tmp_path), storage)
    process.join(PATIENCE)
    assert process.exitcode == 9
    made = agent(tmp_path, says("I see."), storage=storage)
    (session_id,) = ConversationSession.ids(project_root=tmp_path, storage=storage)
    assert made.resume_session(session_id)
    (left,) = made.unresolved_effects
    made.settle_effect(left.call_id, ran=ran)
    made.session.release()
    after = agent(tmp_path, says("I see."), storage=storage)
    assert after.resume_session(session_id)
    assert after.unresolved_effects == []
    asyncio.run(after.run("Go on."))
    system, *asked = script(after).invocations[0].messages
    assert "append_file" not in system.text
    assert [message.role for message in asked] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER, Role.USER]
    assert asked[3].text.startswith("[RUNTIME] The user has looked: ")
    assert ("and has run" in asked[3].text) is ran
    assert asked[3].text.endswith('append_file {"file_path":"log.txt","text":"once"}')
    with pytest.raises(NotFound):
        after.settle_effect(left.call_id, ran=ran)


async def test_calls_that_were_never_begun_get_a_result_too(tmp_path: Path) -> None:
    made = agent(tmp_path, APPEND, says("Done."))

    def tell(event: TurnEvent) -> None:
        if isinstance(event, ToolBegun):
            raise Killed

    with pytest.raises(Killed):
        await made.run("Append it.", tell=tell)
    made.backend = ScriptedBackend([says("Not done.")])
    await made.run("Was it done?")
    assert made.messages[2].text.startswith("error: the turn was interrupted before this call had a result")
    assert not (tmp_path / "log.txt").exists()
    assert made.unresolved_effects == []


async def test_a_cancelled_turn_lets_its_tool_end_and_can_go_on(tmp_path: Path) -> None:
    made = agent(tmp_path, APPEND, says("Done."))
    running: list[asyncio.Task[str]] = []

    def tell(event: TurnEvent) -> None:
        if isinstance(event, ToolEnded):
            running[0].cancel()

    running.append(asyncio.create_task(made.run("Append it.", tell=tell)))
    with pytest.raises(asyncio.CancelledError):
        await running[0]
    assert (tmp_path / "log.txt").read_text() == "once\n"
    assert made.session.last_turn_transition_kind == "recovery"
    made.backend = ScriptedBackend([says("Yes.")])
    assert (await made.run("Was it done?")).startswith("Yes.")
    assert [message.role for message in made.messages[:3]] == [Role.USER, Role.ASSISTANT, Role.TOOL]


async def test_every_effect_is_recorded_before_and_after(tmp_path: Path) -> None:
    made = agent(tmp_path, APPEND, says("Done."))
    seen: list[list[str]] = []

    def tell(event: TurnEvent) -> None:
        document = json.loads((made.session.storage_path or Path()).read_text())
        if isinstance(event, ToolEnded):
            seen.append([effect["status"] for effect in document["effects"]])

    def look(workspace: Path, path: str, line: str) -> None:
        document = json.loads((made.session.storage_path or Path()).read_text())
        seen.append([effect["status"] for effect in document["effects"]])
        append_line(workspace, path, line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_tools, "append_line", look)
        await made.run("Append it.", tell=tell)
    assert seen == [["started"], ["finished"]]


async def test_unfinished_work_goes_on_in_another_session(tmp_path: Path) -> None:
    made: Agent = agent(tmp_path, *[calls("list_files")] * 2, max_iterations=2)
    await made.run("Do all of it.")
    path = made.session.active_dod_path
    other = agent(tmp_path, says("All done."))
    await other.run("Do all of it.")
    assert other.session.active_dod_path == path
    assert (other.session.workflow_timeline[0].kind, other.session.workflow_decision_kind) == (
        *("reentry", "artifact_reuse"),
    )
    assert other.session.workflow_ledger.acceptance_anchors[0].status == "tracked"
    third = agent(tmp_path, says("Again."))
    await third.run("Do all of it.")
    assert third.session.active_dod_path != path


class Hanging(ScriptedBackend):
    """Says two words, and then nothing more."""

    async def stream(self, *args: Any, **options: Any) -> AsyncIterator[str | CompletionResponse]:
        yield "one "
        yield "two"
        await asyncio.Event().wait()


async def stopped_after(made: Agent, words: str) -> None:
    """Run a turn that is cancelled once these words were shown."""
    running: list[asyncio.Task[str]] = []

    def tell(event: TurnEvent) -> None:
        if event == words:
            running[0].cancel()

    running.append(asyncio.create_task(made.run("Count.", tell=tell)))
    with pytest.raises(asyncio.CancelledError):
        await running[0]


@pytest.mark.parametrize("storage", ["file", "store"])
async def test_what_was_shown_of_an_interrupted_answer_is_kept_and_marked(tmp_path: Path, storage: str) -> None:
    made = agent(tmp_path, stream=True, storage=storage)
    made.backend = Hanging()
    await stopped_after(made, "two")
    assert [message.text for message in made.messages] == ["Count.", "one two\n\n[INTERRUPTED]"]
    made.session.release()
    after = agent(tmp_path, says("Three."), storage=storage)
    assert after.resume_session(made.session.session_id)
    await after.run("Go on.")
    asked = script(after).invocations[0].messages
    assert [(message.role, message.text) for message in asked[1:]] == [
        (Role.USER, "Count."),
        (Role.ASSISTANT, "one two\n\n[INTERRUPTED]"),
        (Role.USER, "Go on."),
    ]


async def test_an_answer_that_was_kept_whole_is_not_kept_again(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("list_files", words="I look."), stream=True)

    def tell(event: TurnEvent) -> None:
        if isinstance(event, ToolBegun):
            raise Killed

    with pytest.raises(Killed):
        await made.run("Look.", tell=tell)
    assert [message.text for message in made.messages] == ["Look.", "I look."]


@pytest.mark.parametrize("long_id", ["x" * 300, "y:" * 150])
async def test_a_call_whose_id_is_long_is_known_for_its_effect(tmp_path: Path, long_id: str) -> None:
    made = agent(tmp_path, says("Done."), says("Done."))
    calls_made = [ToolCall(long_id + end, "write", {"file_path": end, "content": "x"}) for end in "ab"]
    effects = SessionEffects(made.session, "turn")
    ids = [effects.call_id(KnownCall(call.id, call.name, call.arguments)) for call in calls_made]
    assert len({each.rpartition(":")[2] for each in ids}) == 2
    made.session.append(Message(Role.ASSISTANT, "", calls_made))
    made.session.start_effect(ids[1], "write", {})
    await made.run("Go on.")
    results = [message.text for message in made.messages if message.role == Role.TOOL]
    assert [text == MAY_HAVE_RUN for text in results] == [False, True]
