"""What a conversation promises of its state, its trace and its compaction holds wherever it is kept."""

import pytest
from tests.runtime.conversation.places import Place, assistant, entry, snapshot, user

from holdfast.core.errors import HoldfastError
from holdfast.models import Message, Role, ToolCall
from holdfast.runtime import CompletionTraceEntry

TEXTS = {
    **dict.fromkeys(("current_task", "runtime_owner_type", "runtime_owner_path", "permission_rules_source")),
    **dict.fromkeys(("prompt_format", "workflow_reason_code", "workflow_reason_summary", "workflow_decision_kind")),
    **dict.fromkeys(("workflow_scheduled_next_mode", "last_completion_decision_code", "active_turn_phase")),
    **dict.fromkeys(("last_completion_decision_summary", "last_turn_transition_summary")),
    **dict.fromkeys(("last_turn_transition_kind", "last_turn_transition_reason_code")),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_blank_text_is_none(file_place: Place, name: str) -> None:
    session = file_place.new()
    session.update_runtime_state(**{name: "words"})
    assert getattr(session, name) == "words"
    session.update_runtime_state(**{name: " \t\n"})
    assert getattr(session, name) is None
    assert getattr(file_place.again(session), name) is None


def test_blank_texts_are_none_in_every_storage(place: Place) -> None:
    session = place.new()
    session.update_runtime_state(**dict.fromkeys(TEXTS, "words"))
    session.update_runtime_state(**dict.fromkeys(TEXTS, ""))
    again = place.again(session)
    assert {name: getattr(again, name) for name in TEXTS} == TEXTS


def test_an_owner_has_a_path_in_every_storage(place: Place) -> None:
    session = place.new()
    session.update_runtime_state(runtime_owner_type="RuntimeHandle")
    assert place.again(session).runtime_owner_path == "runtime-handle"
    session.update_runtime_state(runtime_owner_type="Agent", runtime_owner_path=" ")
    assert place.again(session).runtime_owner_path == "public-agent"
    session.update_runtime_state(runtime_owner_path="elsewhere")
    again = place.again(session)
    assert (again.runtime_owner_type, again.runtime_owner_path) == ("Agent", "elsewhere")


def test_an_update_of_nothing_changes_nothing(place: Place) -> None:
    session = place.new(current_task="t", active_turn_phase="tools", last_completion_decision_code="c")
    session.update_runtime_state()
    again = place.again(session)
    assert (again.current_task, again.active_turn_phase, again.last_completion_decision_code) == ("t", "tools", "c")


def test_a_score_of_nought_is_a_score(place: Place) -> None:
    session = place.new()
    session.update_runtime_state(workflow_ambiguity_score=0.0, workflow_complexity_score=0)
    again = place.again(session)
    assert (again.workflow_ambiguity_score, again.workflow_complexity_score) == (0, 0)


def test_prompting_can_be_turned_off_again(place: Place) -> None:
    session = place.new()
    session.update_runtime_state(permission_prompting_enabled=True)
    session.update_runtime_state(permission_prompting_enabled=False)
    assert place.again(session).permission_prompting_enabled is False


def test_more_than_is_kept_may_be_given_at_the_start(place: Place) -> None:
    session = place.new(
        workflow_timeline=[entry(code=str(number)) for number in range(30)],
        prompt_history=[snapshot(str(number)) for number in range(20)],
        completion_trace=[CompletionTraceEntry("s", "o", str(number), "d") for number in range(10)],
    )
    session.append_workflow_timeline_entry(entry(code="30"))
    session.append_prompt_snapshot(snapshot("20"))
    session.append_completion_trace_entry(CompletionTraceEntry("s", "o", "10", "d"))
    again = place.again(session)
    assert [step.reason_code for step in again.workflow_timeline] == [str(number) for number in range(7, 31)]
    assert [told.content for told in again.prompt_history] == [str(number) for number in range(5, 21)]
    assert [each.decision_code for each in again.completion_trace] == [str(number) for number in range(3, 11)]


def test_the_trace_follows_the_timeline_as_it_grows(place: Place) -> None:
    session = place.new()
    session.append_completion_trace_entry(CompletionTraceEntry("s", "o", "appended", "d"))
    session.append_workflow_timeline_entry(entry("completion_check", "a", "completion: a"))
    session.update_runtime_state(last_completion_decision_code="a")
    assert [each.decision_code for each in session.completion_trace] == ["a"]
    session.append_completion_trace_entry(CompletionTraceEntry("s", "o", "late", "d"))
    for each in (session, place.again(session)):
        assert [told.decision_code for told in each.completion_trace] == ["a"]
    session.append_workflow_timeline_entry(entry("completion_finalize", "b", "completion: b"))
    session.update_runtime_state(last_completion_decision_code="b")
    for each in (session, place.again(session)):
        assert [told.decision_code for told in each.completion_trace] == ["a", "b"]


def test_a_trace_needs_a_decision_of_a_completion(place: Place) -> None:
    session = place.new(last_completion_decision_code="c")
    session.append_workflow_timeline_entry(entry("completed", "c", "completion: c"))
    session.append_workflow_timeline_entry(entry("route", "c", "completion: c"))
    assert session.completion_trace == place.again(session).completion_trace == []


def test_a_trace_is_made_of_lists(place: Place) -> None:
    session = place.new(last_completion_decision_code="c")
    session.append_workflow_timeline_entry(entry("completion_check", "c", "completion: c", evidence_summary=["e"]))
    (told,) = place.again(session).completion_trace
    assert (told.evidence_summary, told.evidence_provenance) == (["e"], [])
    assert type(place.again(session).completion_trace) is list


def test_a_compaction_begins_exactly_at_the_threshold(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=25, compaction_keep_last_messages=1)
    session.extend([user("x" * 50), user("y" * 49)])
    assert session.maybe_compact() is None
    session.append(user("z"))
    result = session.maybe_compact()
    assert result is not None
    assert (result.tokens_before, result.removed_message_count) == (25, 2)
    assert session.messages[1:] == place.again(session).messages[1:] == [user("z")]


def test_a_compaction_keeps_calls_with_their_results_in_every_storage(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=1, compaction_keep_last_messages=1)
    call = Message(Role.ASSISTANT, "", [ToolCall("1", "read", {"file_path": "a"})])
    result = Message(Role.TOOL, "x" * 50, tool_call_id="1")
    session.extend([user("go on"), assistant("yes"), call, result])
    session.maybe_compact()
    assert place.again(session).messages[1:] == [call, result]


def test_a_compaction_is_worth_it_only_with_more_messages_than_are_kept(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=1)
    session.extend([user("x" * 50)] * 4)
    assert session.maybe_compact() is None
    session.append(user("y"))
    assert session.maybe_compact() is not None
    assert session.messages[1:] == [user("x" * 50)] * 3 + [user("y")]


def test_settings_of_rotation_and_compaction_are_kept(place: Place) -> None:
    session = place.new(rotate_after_bytes=1_000, max_rotated_files=7, compaction_keep_last_messages=2)
    session.append(user("a"))
    again = place.again(session)
    assert (again.rotate_after_bytes, again.max_rotated_files, again.compaction_keep_last_messages) == (1_000, 7, 2)


def test_what_was_cleared_is_cleared_for_whoever_loads_it(place: Place) -> None:
    session = place.new()
    session.extend([user("a"), assistant("b")])
    session.clear()
    assert session.messages == place.again(session).messages == []
    session.append(user("c"))
    assert place.again(session).messages == [user("c")]


def test_a_message_that_was_refused_is_not_said_by_a_later_write(place: Place) -> None:
    first = place.new()
    first.append(user("a"))
    place.again(first).append(user("b"))
    with pytest.raises(HoldfastError):
        first.extend([user("lost"), user("lost too")])
    assert first.messages == [user("a")]
    assert place.again(first).messages == [user("a"), user("b")]
