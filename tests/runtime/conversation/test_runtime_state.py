"""How the runtime's state is updated: which fields None leaves, and which it clears."""

import pytest
from tests.runtime.conversation.places import Place

LEFT = {
    "current_task": "t",
    "runtime_owner_type": "Agent",
    "runtime_owner_path": "somewhere",
    "workflow_mode": "plan",
    "permission_mode": "read-only",
    "permission_prompting_enabled": True,
    "permission_rule_counts": {"allow": 1, "deny": 0, "ask": 0},
    "permission_rules_source": "rules",
    "prompt_format": "native",
    "prompt_sections": ["a"],
}
CLEARED = {
    "workflow_reason_code": "r",
    "workflow_reason_summary": "s",
    "workflow_decision_kind": "forced",
    "workflow_ambiguity_score": 0.5,
    "workflow_complexity_score": 0.5,
    "workflow_scheduled_next_mode": "verify",
    "last_completion_decision_code": "c",
    "last_completion_decision_summary": "s",
    "last_turn_transition_summary": "s",
    "last_turn_transition_kind": "normal",
    "last_turn_transition_reason_code": "r",
    "active_turn_phase": "tools",
}


@pytest.mark.parametrize("name", LEFT)
def test_none_leaves_task_owner_modes_permissions_and_prompt(file_place: Place, name: str) -> None:
    session = file_place.new()
    session.update_runtime_state(**LEFT)
    session.update_runtime_state(**{name: None})
    assert {each: getattr(session, each) for each in LEFT} == LEFT
    assert getattr(file_place.again(session), name) == LEFT[name]


@pytest.mark.parametrize("name", CLEARED)
def test_an_explicit_none_clears_the_others(file_place: Place, name: str) -> None:
    session = file_place.new()
    session.update_runtime_state(**CLEARED)
    session.update_runtime_state(current_task="another")
    assert {each: getattr(session, each) for each in CLEARED} == CLEARED
    session.update_runtime_state(**{name: None})
    assert {each: getattr(session, each) for each in CLEARED} == CLEARED | {name: None}
    assert getattr(file_place.again(session), name) is None


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_blank_texts_become_none(file_place: Place, blank: str) -> None:
    session = file_place.new(current_task="t", prompt_format="native", active_turn_phase="tools")
    session.update_runtime_state(current_task=blank, prompt_format=blank, active_turn_phase=blank)
    assert (session.current_task, session.prompt_format, session.active_turn_phase) == (None, None, None)
    session.update_runtime_state(workflow_mode=blank, permission_mode=blank)
    assert (session.workflow_mode, session.permission_mode) == ("execute", "workspace-write")


@pytest.mark.parametrize(
    ("owner", "path"),
    [
        ("Agent", "public-agent"),
        ("RuntimeHandle", "runtime-handle"),
        ("MyHTTPServer", "my-http-server"),
        ("host", "host"),
        ("my_host", "my-host"),
    ],
)
def test_an_owner_without_a_path_gets_one_from_its_type(file_place: Place, owner: str, path: str) -> None:
    session = file_place.new(runtime_owner_path="before")
    session.update_runtime_state(runtime_owner_type=owner)
    assert (session.runtime_owner_type, session.runtime_owner_path) == (owner, path)
    session.update_runtime_state(runtime_owner_type=owner, runtime_owner_path="given")
    assert session.runtime_owner_path == "given"


def test_other_texts_are_kept_as_they_are_and_lists_are_copies(file_place: Place) -> None:
    session = file_place.new()
    sections = ["a"]
    session.update_runtime_state(current_task="  do it \n", prompt_sections=sections)
    sections.append("b")
    assert (session.current_task, session.prompt_sections) == ("  do it \n", ["a"])
    session.update_runtime_state(prompt_sections=[])
    assert session.prompt_sections == []


def test_an_unknown_field_is_refused(file_place: Place) -> None:
    with pytest.raises(TypeError, match="current_taks"):
        file_place.new().update_runtime_state(current_taks="t")
