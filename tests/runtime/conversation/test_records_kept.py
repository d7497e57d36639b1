"""Records of the workflow: every word in them is kept, known to the runtime or not."""

from dataclasses import replace

import pytest
from tests.runtime.conversation.places import Place, entry, snapshot

from holdfast.runtime import (
    CompletionTraceEntry,
    EvidenceProvenance,
    WorkflowLedger,
    WorkflowLedgerItem,
    WorkflowTimelineEntry,
)

KINDS = (
    *("route", "handoff", "reentry", "clarify_continue", "clarify_exit", "plan_refresh", "verify_skip"),
    *("completion_check", "completion_continue", "completion_finalize", "a kind of my own"),
)
DECISIONS = ("initial_route", "requested", "artifact_reuse", "handoff", "reentry", "forced", "a whim")


def test_steps_of_every_kind_are_kept(place: Place) -> None:
    session = place.new()
    steps = [entry(kind) for kind in KINDS] + [entry(decision_kind=kind) for kind in DECISIONS]
    for step in steps:
        session.append_workflow_timeline_entry(step)
    assert session.workflow_timeline == place.again(session).workflow_timeline == steps


def test_a_step_is_kept_with_all_it_says(place: Place) -> None:
    step = WorkflowTimelineEntry(
        "2026-01-01T00:00:00Z",
        "route",
        "plan",
        "large",
        "it is large",
        decision_kind="initial_route",
        route_score=0.75,
        runner_up_mode="execute",
        runner_up_score=0.5,
        scheduled_next_mode="execute",
        unresolved_questions=["which?"],
        signal_summary=["many files"],
        prompt_format="native",
        prompt_sections=["role"],
        artifact_paths=["a.md"],
        policy_stage="gate",
        policy_outcome="pass",
        evidence_summary=["a.md is there"],
        evidence_provenance=[EvidenceProvenance("file", "a.md", "there", status="missing", subject="s", detail="d")],
    )
    session = place.new()
    session.append_workflow_timeline_entry(step)
    assert place.again(session).workflow_timeline == [step]


@pytest.mark.parametrize("status", ["supports", "missing", "contradicts", "context"])
def test_evidence_of_every_status_is_kept(file_place: Place, status: str) -> None:
    session = file_place.new()
    source = EvidenceProvenance("any category", "any source", "words", status=status)
    session.append_completion_trace_entry(CompletionTraceEntry("any", "any", "any", "any", [], [source]))
    assert file_place.again(session).completion_trace[0].evidence_provenance == [source]


def test_ledger_items_of_every_status_are_kept(place: Place) -> None:
    statuses = ("open", "active", "tracked", "contradicted", "changed", "reopened", "forgotten")
    items = [WorkflowLedgerItem(status, status, "a phase", "another", ["e"]) for status in statuses]
    session = place.new()
    session.update_workflow_ledger(WorkflowLedger(assumptions=items))
    assert place.again(session).workflow_ledger == WorkflowLedger(items, [], [])


def test_phases_stages_outcomes_and_codes_are_any_words(place: Place) -> None:
    words = {
        "active_turn_phase": "dreaming",
        "workflow_reason_code": "because",
        "workflow_decision_kind": "a whim",
        "last_turn_transition_kind": "sideways",
        "last_turn_transition_reason_code": "why not",
        "last_completion_decision_code": "enough",
    }
    session = place.new()
    session.update_runtime_state(**words)
    again = place.again(session)
    assert {name: getattr(again, name) for name in words} == words
    assert {type(getattr(again, name)) for name in words} == {str}


def test_none_leaves_some_fields_and_clears_others_in_every_storage(place: Place) -> None:
    session = place.new()
    session.update_runtime_state(current_task="t", workflow_mode="plan", active_turn_phase="tools")
    session.update_runtime_state(current_task=None, workflow_mode=None, active_turn_phase=None)
    again = place.again(session)
    assert (again.current_task, again.workflow_mode, again.active_turn_phase) == ("t", "plan", None)


def test_a_prompt_that_differs_in_anything_but_its_time_is_kept(place: Place) -> None:
    session = place.new()
    session.append_prompt_snapshot(snapshot("a", "1"))
    session.append_prompt_snapshot(replace(snapshot("a", "2"), workflow_mode="plan"))
    session.append_prompt_snapshot(snapshot("a", "3"))
    session.append_prompt_snapshot(snapshot("a", "4"))
    kept = [told.timestamp for told in place.again(session).prompt_history]
    assert kept == [told.timestamp for told in session.prompt_history] == ["1", "2", "3"]


def test_what_a_ledger_says_is_not_changed_through_what_was_read(place: Place) -> None:
    session = place.new()
    given = WorkflowLedger(assumptions=[WorkflowLedgerItem("a", "open", "plan", evidence=["e"])])
    session.update_workflow_ledger(given)
    given.assumptions[0].evidence.append("more")
    session.persist()
    assert place.again(session).workflow_ledger.assumptions[0].evidence == ["e"]


def test_a_decision_that_the_timeline_does_not_tell_is_kept_in_every_storage(place: Place) -> None:
    session = place.new(last_completion_decision_code="other")
    session.append_workflow_timeline_entry(entry("completion_check", "c", "completion: c"))
    mine = CompletionTraceEntry("s", "o", "mine", "completion: as I said it")
    session.append_completion_trace_entry(mine)
    assert session.completion_trace == place.again(session).completion_trace == [mine]


def test_a_summary_without_the_prefix_is_told_as_it_is(place: Place) -> None:
    session = place.new(last_completion_decision_code="c")
    session.append_workflow_timeline_entry(entry("completion_check", "c", "the completion: of it"))
    for each in (session, place.again(session)):
        assert [told.decision_summary for told in each.completion_trace] == ["the completion: of it"]
