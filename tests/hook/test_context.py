"""What a session's start is told: the session's own past, or that of the last one in its folder, and not too much."""

import json
import subprocess
import time
from typing import Any

import pytest
from tests.client.gate import Gate, problem
from tests.hook.hooks import Hooks, hook

from holdfast.client import HookAgentBlocking
from holdfast.hook.context import CARE, MOST, answer


def told(hooks: Hooks, session: str, cwd: str, source: str = "startup", url: str | None = None) -> str:
    """The context of a start; empty if there is none."""
    said = {"session_id": session, "hook_event_name": "SessionStart", "source": source, "cwd": cwd}
    environ = hooks.environ if url is None else hooks.environ | {"SESSION_SERVICE_URL": url}
    found = answer(environ, said, session, 30.0)
    if not found:
        return ""
    inner: dict[str, Any] = json.loads(found)["hookSpecificOutput"]
    assert inner["hookEventName"] == "SessionStart"
    return str(inner["additionalContext"])


@pytest.fixture
def worked(hooks: Hooks) -> str:
    """A folder in which a session has worked."""
    cwd = f"/srv/{hooks.session}"
    for number in range(30):
        hooks.say("UserPromptSubmit", prompt=f"question {number} " + "long " * 200, cwd=cwd)
        hooks.say("PreToolUse", tool_name="Bash", cwd=cwd)
        hooks.say("Stop", last_assistant_message=f"answer {number}", cwd=cwd)
    hooks.deliver()
    with HookAgentBlocking(hooks.session, url=hooks.url) as agent:
        agent.update_state({"phase": "roofing", "filler": "x" * 5_000})
        agent.add_goal("mend the roof", goal_id="goal-roof")
        agent.update_goal(agent.add_goal("long done"), "completed")
        agent.flush()
    return cwd


def test_a_session_that_goes_on_is_told_its_state_goals_and_last_words(hooks: Hooks, worked: str) -> None:
    text = told(hooks, hooks.session, worked, "resume")
    assert CARE in text and hooks.session in text and '"phase": "roofing"' in text
    assert "goal-roof (pending): mend the roof" in text and "long done" not in text
    assert "user: question 29" in text and "assistant: answer 29" in text and "question 20" not in text
    assert len(text) <= MOST


def test_a_new_session_is_told_of_the_last_one_in_its_folder(hooks: Hooks, worked: str) -> None:
    text = told(hooks, f"{hooks.session}-next", worked)
    assert text.startswith("The last session in this folder") and hooks.session in text and "answer 29" in text
    assert told(hooks, f"{hooks.session}-next", "/somewhere/else") == ""


def test_a_session_that_only_its_lines_tell_of_is_told_these(hooks: Hooks) -> None:
    said = {"message": {"role": "user", "content": [{"type": "text", "text": "only a line"}]}}
    hooks.record({"type": "user", "details": said})
    hooks.deliver()
    assert "user: only a line" in told(hooks, hooks.session, "/work", "compact")


def test_a_start_prints_it_and_a_slow_gateway_is_not_waited_for(hooks: Hooks, worked: str, gate: Gate) -> None:
    said = {"session_id": hooks.session, "hook_event_name": "SessionStart", "source": "resume", "cwd": worked}
    environ = hooks.environ | {"HOLDFAST_CONTEXT_SECONDS": "30"}
    assert b"answer 29" in hook(said, environ=environ).stdout
    assert hook(said, environ=environ | {"HOLDFAST_CONTEXT_SECONDS": "0"}).stdout == b""

    def slow(_seen: object) -> Any:
        time.sleep(20)
        return problem(503, "busy")

    gate.decide = slow
    environ |= {"SESSION_SERVICE_URL": gate.url, "HOLDFAST_CONTEXT_SECONDS": "0.3"}
    began = time.monotonic()
    ended: subprocess.CompletedProcess[bytes] = hook(said, environ=environ)
    assert (ended.returncode, ended.stdout) == (0, b"") and time.monotonic() - began < 15
