"""Timeline, prompts, ledger and completion trace: bounded, detached, and the trace follows from the timeline."""

import json

from tests.runtime.conversation.places import Place, entry, ledger, provenance, snapshot

from holdfast.runtime import CompletionTraceEntry, EvidenceProvenance, WorkflowLedger, WorkflowLedgerItem


def test_the_newest_steps_prompts_and_decisions_are_kept(place: Place) -> None:
    session = place.new()
    for number in range(30):
        session.append_workflow_timeline_entry(entry(code=str(number)))
    for number in range(20):
        session.append_prompt_snapshot(snapshot(str(number)))
    for number in range(10):
        session.append_completion_trace_entry(CompletionTraceEntry("s", "o", str(number), "d"))
    for each in (session, place.again(session)):
        assert [step.reason_code for step in each.workflow_timeline] == [str(n) for n in range(6, 30)]
        assert [told.content for told in each.prompt_history] == [str(n) for n in range(4, 20)]
        assert [decision.decision_code for decision in each.completion_trace] == [str(n) for n in range(2, 10)]


def test_the_same_prompt_at_another_time_is_not_kept_again(file_place: Place) -> None:
    session = file_place.new()
    for content, time in (("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")):
        session.append_prompt_snapshot(snapshot(content, time))
    assert [(told.content, told.timestamp) for told in session.prompt_history] == [("a", "1"), ("b", "3"), ("a", "4")]


def test_the_ledger_is_kept_as_a_copy(place: Place) -> None:
    session = place.new()
    given = ledger()
    session.update_workflow_ledger(given)
    given.assumptions[0].status = "contradicted"
    given.acceptance_anchors.append(WorkflowLedgerItem("more", "open", "plan"))
    for each in (session, place.again(session)):
        assert each.workflow_ledger == ledger()
    assert WorkflowLedger() == WorkflowLedger([], [], [])


def test_records_have_the_defaults_that_callers_rely_on() -> None:
    item = WorkflowLedgerItem("t", "open", "plan")
    assert (item.updated_phase, item.evidence) == (None, [])
    source = EvidenceProvenance("c", "s", "t")
    assert (source.status, source.subject, source.detail) == ("context", None, None)
    step = entry()
    assert (step.unresolved_questions, step.artifact_paths, step.evidence_provenance, step.policy_stage) == (
        *([], [], []),
        None,
    )
    decision = CompletionTraceEntry("s", "o", "c", "d")
    assert (decision.evidence_summary, decision.evidence_provenance) == ([], [])


def test_the_trace_is_the_row_of_decisions_up_to_the_last_one(place: Place) -> None:
    session = place.new()
    steps = [
        entry("completion_check", "old", "completion: old"),
        entry("route", "r", "routed"),
        entry("completion_check", "first", "completion: looked"),
        entry(
            "completion_finalize",
            "last",
            "completion: all is done",
            policy_stage="finalize",
            policy_outcome="done",
            evidence_summary=["a.py is there"],
            evidence_provenance=[provenance()],
        ),
        entry("completion_check", "later", "completion: later"),
    ]
    for step in steps:
        session.append_workflow_timeline_entry(step)
    session.append_completion_trace_entry(CompletionTraceEntry("s", "o", "appended", "d"))
    assert [each.decision_code for each in session.completion_trace] == ["appended"]
    assert [each.decision_code for each in place.again(session).completion_trace] == ["appended"]
    session.update_runtime_state(last_completion_decision_code="last")
    expected = [
        CompletionTraceEntry("", "", "first", "looked"),
        CompletionTraceEntry("finalize", "done", "last", "all is done", ["a.py is there"], [provenance()]),
    ]
    assert session.completion_trace == expected
    assert place.again(session).completion_trace == expected
    session.update_runtime_state(last_completion_decision_code="r")
    assert [each.decision_code for each in session.completion_trace] == ["appended"]


def test_the_newest_decision_with_the_code_counts_and_eight_are_shown(file_place: Place) -> None:
    session = file_place.new(last_completion_decision_code="c")
    for number in range(12):
        session.append_workflow_timeline_entry(entry("completion_check", "c" if number in {3, 10} else str(number)))
    assert [each.decision_code for each in session.completion_trace] == ["c", *map(str, range(4, 10)), "c"]


def test_a_trace_that_the_timeline_tells_is_not_stored(file_place: Place) -> None:
    session = file_place.new()
    session.append_completion_trace_entry(CompletionTraceEntry("s", "o", "c", "d"))
    assert session.storage_path is not None
    assert "completion_trace" in json.loads(session.storage_path.read_text())
    session.append_workflow_timeline_entry(entry("completion_check", "x", "completion: x"))
    session.update_runtime_state(last_completion_decision_code="x")
    assert "completion_trace" not in json.loads(session.storage_path.read_text())
