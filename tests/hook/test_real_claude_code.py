"""The real command line of Claude Code with the plugin: what it did is in the store, though the gateway was killed.

A witness stands beside the plugin: hooks of the project's own, which keep each payload in a file. What the store has
must be what the witness has seen, and what the transcripts say.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import answer
from tests.client.looking import free_port
from tests.gateway.process import running
from tests.hook.hooks import Hooks, ask, hook
from tests.support.claude_cli import HELPER, ClaudeCode, simulator

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "claude_code"
EVENTS = tuple(json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"])
OURS = frozenset({"session_id", "hook_event_name"})
"""Members of a payload that are the session and the type of its event."""
TOOL = (
    {"content": "I write it.", "toolCalls": [{"name": "Bash", "arguments": {"command": "echo straw > roof.txt"}}]},
    *("Written.", "Done.", "Done.", "Done."),
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the plugin is told by the environment; the gateway's port is free."""
    yield {
        "SESSION_SERVICE_URL": f"http://127.0.0.1:{free_port()}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "HOLDFAST_COMMAND": str(ROOT / ".venv" / "bin" / "holdfast"),
        "HOLDFAST_CONTEXT_SECONDS": "8",
    }


def with_witness(claude: ClaudeCode, folder: Path) -> Path:
    """Have the program's own settings keep every payload as a file; the folder of these."""
    seen = folder / "witness"
    seen.mkdir()
    command = f'cat > "$(mktemp {seen}/XXXXXXXX)"'
    claude.folder.mkdir(parents=True, exist_ok=True)
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}] for event in EVENTS}
    settings = claude.folder / "settings.json"
    known = json.loads(settings.read_text()) if settings.exists() else {}
    settings.write_text(json.dumps(known | {"hooks": hooks}))
    return seen


def witnessed(seen: Path, session: str) -> list[dict[str, Any]]:
    """The payloads of a session in the order in which they came."""
    files = sorted(seen.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    return [said for said in map(json.loads, map(Path.read_text, files)) if said["session_id"] == session]


def by_event(said: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The payloads of each event, in order."""
    found = defaultdict(list)
    for each in said:
        found[each["hook_event_name"]].append({name: value for name, value in each.items() if name not in OURS})
    return dict(found)


def test_every_step_is_in_the_store_once_and_in_order_though_the_gateway_was_killed(
    tmp_path: Path, place: dict[str, str]
) -> None:
    session, other, home = str(uuid.uuid4()), str(uuid.uuid4()), tmp_path / "home"
    port = int(place["SESSION_SERVICE_URL"].rpartition(":")[2])
    go_on = ("--resume", session)
    with simulator() as url:
        claude = ClaudeCode(home, url, **place)
        claude.run("plugin", "marketplace", "add", str(ROOT / "integrations"))
        claude.run("plugin", "install", "holdfast@holdfast")
        assert "holdfast@holdfast" in claude.run("plugin", "list")
        seen = with_witness(claude, tmp_path)
        with running(tmp_path / "data", port=port) as gateway:
            claude.turn("My name is Ada", "--session-id", session)
            gateway.process.kill()
            gateway.process.wait()
        assert "Ada" in claude.turn("What is my name?", *go_on)["result"]
        claude.turn("/compact", *go_on)
    with simulator(TOOL, tmp_path) as url:
        ClaudeCode(home, url, **place).turn("Write straw into roof.txt", *go_on, "--allowedTools", "Bash")
    assert (claude.work / "roof.txt").read_text() == "straw\n"
    with running(tmp_path / "data", port=port):
        with simulator(HELPER, tmp_path) as url:
            ClaudeCode(home, url, **place).turn("Have a helper say cheese", *go_on)
        with simulator() as url:
            ClaudeCode(home, url, **place).turn("Say goodbye", "--session-id", other)
        hooks = Hooks(tmp_path, place["SESSION_SERVICE_URL"], session)
        flushed = hook(b"", "--flush", environ=hooks.environ | place)
        assert flushed.returncode == 0, flushed.stdout

        truth = witnessed(seen, session)
        events = hooks.events()
        stored = [
            {"hook_event_name": each["type"], **each["details"]}
            for each in events
            if each["eventId"].startswith("hook-")
        ]
        assert by_event(stored) == by_event(truth)
        assert len(stored) == len(truth) > 20
        main = [each["hook_event_name"] for each in stored if each["hook_event_name"] in {"SessionStart", "SessionEnd"}]
        assert main[:2] == ["SessionStart", "SessionEnd"] and main.count("SessionEnd") == 5
        assert {
            "PreToolUse",
            "PostToolUse",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
            "Stop",
        } <= set(by_event(stored))
        assert [each["prompt"] for each in by_event(stored)["UserPromptSubmit"]][:2] == [
            "My name is Ada",
            "What is my name?",
        ]

        files = claude.files()
        (own,) = (raw for name, raw in files.items() if name.endswith(f"{session}.jsonl"))
        called = [
            part["id"]
            for line in map(json.loads, own.splitlines())
            if line.get("type") == "assistant"
            for part in line["message"]["content"]
            if part["type"] == "tool_use"
        ]
        assert [each["tool_use_id"] for each in by_event(stored)["PreToolUse"]] == called and len(called) == 2
        lines = [each["eventId"] for each in events if each["eventId"].startswith("line-")]
        assert len(lines) == len(set(lines)) == len(own.splitlines())
        (agent,) = ask(hooks.url, f"/api/state/{session}")["agents"]
        assert agent["status"] == "completed"

        guarded = answer("guard", "--once", "--folder", str(claude.folder), "--url", hooks.url, data=tmp_path / "notes")
        assert (guarded["sessions"], guarded["lines"], guarded["refused"]) == (0, 0, [])
        assert not list((tmp_path / "state").rglob("refused.jsonl"))
        (last,) = (raw for name, raw in files.items() if name.endswith(f"{other}.jsonl"))
        assert b"kept by Holdfast" in last, "a new session is told of the one before in its folder"
    assert answer("sessions", "verify", data=tmp_path / "data")["ok"]


def test_the_plugin_is_valid_and_without_a_gateway_or_a_command_nobody_notices(
    tmp_path: Path, place: dict[str, str]
) -> None:
    with simulator() as url:
        claude = ClaudeCode(tmp_path / "home", url, **place)
        for folder in (PLUGIN, ROOT / "integrations"):
            assert "Validation passed" in claude.run("plugin", "validate", str(folder))
        assert "Ada" in claude.turn("My name is Ada", "--plugin-dir", str(PLUGIN))["result"]
        without = ClaudeCode(tmp_path / "home", url, **place | {"HOLDFAST_COMMAND": "/nowhere/holdfast"})
        assert "Ada" in without.turn("My name is Ada", "--plugin-dir", str(PLUGIN))["result"]
    status = hook(b"", "--status", "--json", environ=Hooks(tmp_path, "", "s").environ | place)
    assert json.loads(status.stdout)["waiting"] >= 4, "the first session's steps wait for the gateway"
