"""The names that callers rely on: where they are, how they are called, and which of them are coroutines."""

import inspect
from dataclasses import MISSING, fields
from typing import Any

import pytest
from tests.runtime.conversation.places import Place, user

import holdfast.models
import holdfast.runtime
from holdfast.models import CompletionResponse, Message, Role, ScriptedBackend, ToolCall
from holdfast.runtime import (
    Agent,
    CompletionTraceEntry,
    ConversationSession,
    EvidenceProvenance,
    PromptSnapshot,
    RuntimeHandle,
    WorkflowLedger,
    WorkflowLedgerItem,
    WorkflowTimelineEntry,
)

MODELS = ("Message", "Role", "ToolCall", "CompletionResponse", "ScriptedBackend")
RUNTIME = (
    *("Agent", "AgentConfig", "ReasoningConfig", "RuntimeHandle", "ConversationSession", "WorkflowLedger"),
    *("WorkflowLedgerItem", "WorkflowTimelineEntry", "CompletionTraceEntry", "EvidenceProvenance", "PromptSnapshot"),
)
SETTINGS = (
    *("session_id", "created_at", "updated_at", "usage_totals", "active_dod_path", "current_task"),
    *("runtime_owner_type", "runtime_owner_path", "workflow_mode", "permission_mode", "permission_prompting_enabled"),
    *("permission_rule_counts", "permission_rules_source", "prompt_format", "prompt_sections", "prompt_history"),
    *("workflow_timeline", "workflow_ledger", "completion_trace", "compaction", "workflow_reason_code"),
    *("workflow_reason_summary", "workflow_decision_kind", "workflow_ambiguity_score", "workflow_complexity_score"),
    *("workflow_scheduled_next_mode", "last_completion_decision_code", "last_completion_decision_summary"),
    *("last_turn_transition_summary", "last_turn_transition_kind", "last_turn_transition_reason_code"),
    *("active_turn_phase", "rotate_after_bytes", "max_rotated_files", "auto_compaction_input_tokens_threshold"),
    "compaction_keep_last_messages",
)
REQUIRED_AND_OPTIONAL: dict[type[Any], tuple[list[str], dict[str, Any]]] = {
    WorkflowTimelineEntry: (
        ["timestamp", "kind", "mode", "reason_code", "summary"],
        {
            **dict.fromkeys(("decision_kind", "route_score", "runner_up_mode", "runner_up_score")),
            "scheduled_next_mode": None,
            **{"unresolved_questions": [], "signal_summary": [], "prompt_format": None, "prompt_sections": []},
            **{"artifact_paths": [], "policy_stage": None, "policy_outcome": None},
            **{"evidence_summary": [], "evidence_provenance": []},
        },
    ),
    CompletionTraceEntry: (
        ["stage", "outcome", "decision_code", "decision_summary"],
        {"evidence_summary": [], "evidence_provenance": []},
    ),
    EvidenceProvenance: (["category", "source", "summary"], {"status": "context", "subject": None, "detail": None}),
    PromptSnapshot: (
        [
            *("timestamp", "workflow_mode", "permission_mode", "current_task"),
            *("prompt_format", "prompt_sections", "content"),
        ],
        {},
    ),
    WorkflowLedger: ([], {"assumptions": [], "acceptance_anchors": [], "decision_boundaries": []}),
    WorkflowLedgerItem: (["text", "status", "introduced_phase"], {"updated_phase": None, "evidence": []}),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_name_of_the_models_is_public(name: str) -> None:
    assert name in holdfast.models.__all__
    assert inspect.isclass(getattr(holdfast.models, name))


@pytest.mark.parametrize("name", RUNTIME)
def test_a_name_of_the_runtime_is_public(name: str) -> None:
    assert name in holdfast.runtime.__all__
    assert inspect.isclass(getattr(holdfast.runtime, name))


def test_the_roles() -> None:
    assert {"SYSTEM", "USER", "ASSISTANT", "TOOL"} == set(Role.__members__)


def test_messages_and_answers_have_the_defaults_that_callers_rely_on() -> None:
    message = Message(role=Role.USER, content="hello")
    assert (message.tool_calls, message.tool_call_id) == ([], None)
    call = ToolCall(id="1", name="read", arguments={"file_path": "a"})
    assert Message(Role.ASSISTANT, "", tool_calls=[call]).tool_calls == [call]
    assert Message(Role.TOOL, "x", tool_call_id="1").tool_call_id == "1"
    answer = CompletionResponse(content="hi")
    assert (answer.tool_calls, answer.usage) == ([], {})
    assert CompletionResponse("", tool_calls=[call], usage={"prompt_tokens": 1}).tool_calls == [call]


def test_what_one_message_has_by_itself_is_not_anothers() -> None:
    assert Message(Role.USER, "a").tool_calls is not Message(Role.USER, "b").tool_calls
    assert CompletionResponse("a").usage is not CompletionResponse("b").usage


def test_a_script_is_empty_and_knows_tools_unless_it_is_told_otherwise() -> None:
    assert ScriptedBackend().supports_native_tools is True
    assert ScriptedBackend().invocations == []
    assert ScriptedBackend(completions=[], streams=[], supports_native_tools=False).supports_native_tools is False


@pytest.mark.parametrize("kind", REQUIRED_AND_OPTIONAL, ids=lambda kind: kind.__name__)
def test_a_record_takes_its_fields_in_this_order(kind: type[Any]) -> None:
    required, optional = REQUIRED_AND_OPTIONAL[kind]
    made = kind(*(f"<{name}>" for name in required))
    assert {name: getattr(made, name) for name in required} == {name: f"<{name}>" for name in required}
    assert {name: getattr(made, name) for name in optional} == optional
    assert [each.name for each in fields(kind)] == [*required, *optional]
    assert [
        each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING
    ] == required


def test_a_conversation_is_made_by_keyword_only(file_place: Place) -> None:
    make: Any = ConversationSession
    with pytest.raises(TypeError):
        make(*file_place.settings().values())
    parameters = inspect.signature(ConversationSession).parameters
    assert all(each.kind in {each.KEYWORD_ONLY, each.VAR_KEYWORD} for each in parameters.values())


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_of_a_conversation_is_a_keyword_and_an_attribute(file_place: Place, name: str) -> None:
    value = getattr(file_place.new(), name)
    assert getattr(file_place.new(**{name: value}), name) == value


def test_an_unknown_setting_of_a_conversation_is_refused(file_place: Place) -> None:
    with pytest.raises(TypeError):
        file_place.new(curent_task="t")


def test_a_load_is_by_keyword_and_its_id_may_be_left_out(file_place: Place) -> None:
    session = file_place.new()
    session.append(user("a"))
    settings = file_place.settings()
    three = {name: settings[name] for name in ("project_root", "system_message_factory", "few_shot_factory")}
    found = ConversationSession.load(**three)
    assert found is not None
    assert found.session_id == session.session_id


@pytest.mark.parametrize("kind", [Agent, RuntimeHandle])
def test_only_a_run_is_a_coroutine(kind: type[Agent]) -> None:
    functions = inspect.getmembers(kind, inspect.isfunction)
    awaited = [name for name, function in functions if inspect.iscoroutinefunction(function) and name[0] != "_"]
    assert awaited == ["run"]


def test_nothing_of_a_conversation_is_a_coroutine() -> None:
    functions = inspect.getmembers(ConversationSession, inspect.isroutine)
    assert [name for name, function in functions if inspect.iscoroutinefunction(function)] == []


def test_a_handle_is_made_like_an_agent() -> None:
    assert inspect.signature(RuntimeHandle) == inspect.signature(Agent)
    assert {"backend", "config", "project_root"} <= inspect.signature(Agent).parameters.keys()
    assert inspect.signature(RuntimeHandle.resume_session) == inspect.signature(Agent.resume_session)
