"""What hooks report is in the session, in order, each once, its secrets masked; whatever the payload tries."""

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.client.gate import CutOff, Gate, Seen, problem
from tests.gateway.process import Running
from tests.hook.hooks import Hooks, ask

from holdfast.core.ids import session_id_for
from holdfast.hook import inbox, payload
from holdfast.hook.entries import HookRecord, transcript_of

SECRET = "sk-ant-" + "a1b2c3d4" * 4
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd")


def test_what_hooks_report_is_in_the_session_in_order(hooks: Hooks) -> None:
    for number, event in enumerate(EVENTS):
        hooks.say(event, number=number, cwd="/work")
    hooks.deliver()
    assert [(each["type"], each["details"]["number"]) for each in hooks.events()] == [
        (event, number) for number, event in enumerate(EVENTS)
    ]
    about = ask(hooks.url, f"/api/sessions/{hooks.session}")["metadata"]
    assert "claude-code" in about["tags"] and about["metadata"] == {"secrets": "masked", "cwd": "/work"}


def test_a_courier_that_dies_before_it_settles_doubles_nothing(hooks: Hooks, tmp_path: Path) -> None:
    hooks.say("SubagentStart", agent_id="a1", agent_type="Explore")
    for number in range(30):
        hooks.say("UserPromptSubmit", number=number)
    hooks.say("SubagentStop", agent_id="a1", agent_type="Explore", last_assistant_message="found")
    shutil.copytree(hooks.folder, tmp_path / "before")
    hooks.deliver()
    before = ask(hooks.url, f"/api/sessions/{hooks.session}?limit=1000")
    shutil.rmtree(hooks.folder)
    (tmp_path / "before").rename(hooks.folder)
    hooks.deliver()
    again = ask(hooks.url, f"/api/sessions/{hooks.session}?limit=1000")
    assert again == before and again["metadata"]["headSeq"] > 30
    assert [(each["agentId"], each["status"], each["result"]) for each in again["state"]["agents"]] == [
        ("a1", "completed", "found")
    ]
    assert not hooks.folder.parent.joinpath("refused.jsonl").exists()


def test_a_gateway_that_is_away_is_waited_for(hooks: Hooks, gate: Gate) -> None:
    away = Hooks(hooks.config.parent, gate.url, hooks.session)
    left = iter([problem(503, "busy"), CutOff(), problem(503, "busy"), CutOff()])

    def decide(_seen: Seen) -> Any:
        return next(left, None)

    gate.decide = decide
    for number in range(20):
        away.say("UserPromptSubmit", number=number)
    away.deliver()
    assert next(left, None) is None, "all of them were in the way"
    assert [each["details"]["number"] for each in hooks.events()] == list(range(20))


def test_what_waits_for_too_long_stays_for_the_next_courier(hooks: Hooks, gate: Gate) -> None:
    away = Hooks(hooks.config.parent, gate.url, hooks.session)
    away.say("UserPromptSubmit", prompt="one")
    gate.decide = lambda _seen: problem(503, "busy")
    assert not away.courier(away=0).run()
    assert "records wait" in away.log()
    gate.decide = lambda _seen: None
    away.deliver()
    assert hooks.types() == ["UserPromptSubmit"]


def test_secrets_are_masked_unless_the_session_began_otherwise(hooks: Hooks, session: str) -> None:
    hooks.say("UserPromptSubmit", prompt=f"use {SECRET}", tool_input={"password": "hunter2"})
    hooks.deliver()
    hooks.say("UserPromptSubmit", prompt=f"and {SECRET}", masks=False)
    hooks.deliver()
    first, second = (each["details"] for each in hooks.events())
    assert SECRET not in str(first) + str(second) and first["tool_input"] == {"password": "***"}

    open_session = f"{session}-open"
    hooks.record({"type": "note", "details": {"key": SECRET}}, open_session, masks=False)
    hooks.deliver()
    assert hooks.events(open_session)[0]["details"] == {"key": SECRET}


def test_a_session_that_somebody_else_begins_at_the_same_moment_is_theirs(hooks: Hooks, gate: Gate) -> None:
    both = Hooks(hooks.config.parent, gate.url, hooks.session)
    both.say("UserPromptSubmit", prompt=f"use {SECRET}", masks=False)

    def begin_first(seen: Seen) -> None:
        if (seen.method, seen.path) == ("POST", "/api/sessions"):
            body = {"sessionId": hooks.session, "userId": "ada", "metadata": {"secrets": "masked"}}
            said = Seen("POST", "/api/sessions", {"Content-Type": "application/json"}, json.dumps(body).encode(), 0)
            gate.decide = lambda _seen: None
            gate.forward(said)

    gate.decide = begin_first
    both.deliver()
    assert SECRET not in str(hooks.events()) and hooks.types() == ["UserPromptSubmit"]
    assert not (both.folder.parent / "refused.jsonl").exists()


def test_a_session_that_was_deleted_here_is_not_begun_again(hooks: Hooks, gateway: Running) -> None:
    hooks.say("SessionStart")
    hooks.deliver()
    urlopen(Request(f"{gateway.url}/api/sessions/{hooks.session}", method="DELETE"), timeout=60).close()
    hooks.say("Stop")
    hooks.record({"type": "note"}, f"{hooks.session}-other")
    hooks.deliver()
    assert "was deleted here" in hooks.log()
    assert [each["type"] for each in hooks.events(f"{hooks.session}-other")] == ["note"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "…", "x" * 500, "$(touch pwned)", "..", "a\nb\0c", "\ud800"]
)
def test_a_hostile_session_id_is_a_session_and_nothing_else(hooks: Hooks, name: str, tmp_path: Path) -> None:
    hooks.folder.mkdir(parents=True)
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(hooks.folder.parent)}
    hooks.record({"session_id": name, "hook_event_name": "Stop", "transcript_path": f"/x/{name}.jsonl"})
    hooks.deliver()
    said = name.encode("utf-8", "replace").decode()
    assert [each["type"] for each in hooks.events(session_id_for(said))] == ["Stop"]
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(hooks.folder.parent)} == before


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "{config}/projects/-work/other.jsonl",
        "{config}/projects/-work/../../../{session}.jsonl",
        "{config}/{session}.jsonl",
        "/elsewhere/projects/-work/{session}.jsonl",
        "{session}.jsonl",
        "{config}/projects/a/b/{session}.jsonl",
    ],
)
def test_only_the_sessions_own_transcript_is_read(path: str, session: str) -> None:
    def place(file: str) -> object:
        said = {"session_id": session, "hook_event_name": "SessionEnd", "transcript_path": file}
        return transcript_of(HookRecord("k", 1, session, said, config="/home/.claude"), masks=True)

    assert place(f"/home/.claude/projects/-work/{session}.jsonl") is not None
    assert place(path.format(config="/home/.claude", session=session)) is None


@pytest.mark.parametrize(
    "said",
    [
        {"details": {"no": "type"}},
        {"type": 5},
        {"type": ""},
        {"type": "holdfast.created"},
        {"type": "x", "details": {}, "surprise": 1},
        {"type": "x", "timestamp": "yesterday"},
        {"type": "x", "timestamp": {}},
        {"type": "x", "timestamp": 10**30},
        {"type": "x" * 600},
    ],
)
def test_an_event_that_is_none_is_set_aside_and_holds_nobody_up(hooks: Hooks, said: dict[str, Any]) -> None:
    hooks.record(said)
    hooks.record({"type": "good", "more": "words"})
    hooks.deliver()
    assert [(each["type"], each["details"]) for each in hooks.events()] == [("good", {"more": "words"})]
    assert "refused, it is in" in hooks.log()
    assert len((hooks.folder.parent / "refused.jsonl").read_bytes().splitlines()) == 1


def test_a_record_that_is_damaged_is_set_aside(hooks: Hooks) -> None:
    inbox.append(hooks.folder, b'{"key": 7')
    inbox.append(hooks.folder, b"[" * 5_000)
    hooks.say("Stop")
    hooks.deliver()
    assert hooks.types() == ["Stop"] and len((hooks.folder.parent / "refused.jsonl").read_bytes().splitlines()) == 2


def test_any_program_reports_what_the_routes_take(hooks: Hooks) -> None:
    hooks.record({"type": "deploy", "details": {"to": "prod"}, "timestamp": "2026-02-13T10:00:00Z", "eventId": "d1"})
    hooks.record({"session_id": hooks.session, "type": "test", "data": "Hello"})
    hooks.deliver()
    first, second = hooks.events()
    assert (first["eventId"], first["timestamp"][:19], first["details"]) == (
        "d1",
        "2026-02-13T10:00:00",
        {"to": "prod"},
    )
    assert (second["type"], second["details"]) == ("test", {"data": "Hello"})


def test_what_json_cannot_carry_is_kept_as_text(hooks: Hooks) -> None:
    deep: Any = "bottom"
    for _ in range(80):
        deep = [deep]
    hooks.say("PreToolUse", tool_input=deep)
    hooks.deliver()
    (event,) = hooks.events()
    assert event["type"] == "PreToolUse" and "bottom" in event["details"]["text"]


def test_a_helper_of_a_compaction_is_no_sub_agent(hooks: Hooks) -> None:
    hooks.say("SubagentStop", agent_id="a2", agent_type="")
    hooks.deliver()
    assert hooks.types() == ["SubagentStop"]
    assert ask(hooks.url, f"/api/state/{hooks.session}")["agents"] == []


def test_a_session_knows_the_one_that_it_runs_in(hooks: Hooks, session: str) -> None:
    about = {"session": session, "around": "test-claude-1", "masks": True, "config": None}
    inbox.append(hooks.folder, payload.record({"hook_event_name": "Stop"}, about))
    hooks.deliver()
    assert ask(hooks.url, f"/api/sessions/{session}/resume")["session"]["lineage"]["parentSession"] == "test-claude-1"
