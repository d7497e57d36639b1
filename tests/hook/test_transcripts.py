"""Transcript, hooks and guard together give one session, with each line once and its secrets masked."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import answer
from tests.hook.hooks import Hooks, ask

from holdfast.client.errors import ServiceAway
from holdfast.hook.entries import TranscriptPlace

RECORDED = Path(__file__).parents[1] / "transcripts" / "recorded" / "claude-code"
ASKING = "33333333-3333-4333-8333-333333333333"
SECRET = "sk-ant-" + "a1b2c3d4" * 4


def lines(hooks: Hooks, session: str) -> list[str]:
    """The ids of the lines that a session has, in order."""
    return [each["eventId"] for each in hooks.events(session) if each["eventId"].startswith("line-")]


@pytest.fixture
def work(hooks: Hooks) -> Path:
    """A project's folder in the place where Claude Code keeps its sessions."""
    folder = hooks.config / "projects" / "-work"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def transcript(hooks: Hooks, work: Path) -> Path:
    """A session's file, with a secret in one of its lines."""
    file = work / f"{hooks.session}.jsonl"
    said = [{"type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": f"word {n}"}} for n in range(3)]
    said[1]["message"] = {"role": "user", "content": f"use {SECRET}"}
    file.write_text("".join(json.dumps(each) + "\n" for each in said))
    return file


def test_hooks_guard_and_import_give_one_session_with_each_line_once(
    hooks: Hooks, transcript: Path, tmp_path: Path
) -> None:
    place: dict[str, Any] = {"transcript_path": str(transcript), "cwd": "/work"}
    hooks.say("SessionStart", **place)
    hooks.say("UserPromptSubmit", prompt="word 0", **place)
    hooks.say("PreCompact", **place)
    hooks.deliver()
    assert lines(hooks, hooks.session) == ["line-u0", "line-u1", "line-u2"]

    with transcript.open("a") as file:
        file.write('{"type": "assistant", "uuid": "u3", "message": {"role": "assistant", "content": "four"}}\n')
    guarded = answer("guard", "--once", "--folder", str(hooks.config), "--url", hooks.url, data=tmp_path / "notes")
    assert (guarded["sessions"], guarded["lines"], guarded["refused"]) == (0, 1, [])
    with transcript.open("a") as file:
        file.write('{"type": "last-prompt", "lastPrompt": "word"}\n')
    hooks.say("SessionEnd", **place)
    hooks.deliver()
    imported = answer("sessions", "import", str(hooks.config), "--url", hooks.url, data=tmp_path / "notes")
    assert (imported["events"], imported["thereBefore"]) == (0, [hooks.session])

    found = lines(hooks, hooks.session)
    assert found[:4] == ["line-u0", "line-u1", "line-u2", "line-u3"] and len(set(found)) == len(found) == 5
    assert [kind for kind in hooks.types() if kind[0].isupper()] == [
        "SessionStart",
        "UserPromptSubmit",
        "PreCompact",
        "SessionEnd",
    ]
    said = json.dumps(ask(hooks.url, f"/api/sessions/{hooks.session}?limit=1000"))
    assert SECRET not in said and "use sk-***" in said
    about = ask(hooks.url, f"/api/sessions/{hooks.session}")["metadata"]["metadata"]
    assert (about["title"], about["secrets"], about["source"]["name"]) == ("word 0", "masked", "claude-code")


def test_a_session_that_the_guard_began_goes_on_as_it_began(hooks: Hooks, transcript: Path, tmp_path: Path) -> None:
    options = ("--folder", str(hooks.config), "--url", hooks.url, "--verbatim")
    answer("guard", "--once", *options, data=tmp_path / "notes")
    with transcript.open("a") as file:
        file.write(json.dumps({"type": "user", "uuid": "u3", "message": {"content": f"again {SECRET}"}}) + "\n")
    hooks.say("SessionEnd", transcript_path=str(transcript), masks=False, reason=f"with {SECRET}")
    hooks.deliver()
    texts = {each["eventId"]: json.dumps(each["details"]) for each in hooks.events()}
    assert SECRET in texts["line-u1"] and SECRET in texts["line-u3"]
    assert all(SECRET in text for name, text in texts.items() if name.startswith("hook-"))


def test_sub_agents_transcripts_come_with_their_sessions(hooks: Hooks, work: Path) -> None:
    asking = Hooks(hooks.config.parent, hooks.url, ASKING)
    project = RECORDED / "projects" / "-home-ada-work"
    shutil.copytree(project / ASKING, work / ASKING)
    shutil.copy(project / f"{ASKING}.jsonl", work)
    asking.say("SessionEnd", transcript_path=str(work / f"{ASKING}.jsonl"))
    asking.deliver()
    (agent,) = (work / ASKING / "subagents").glob("*.jsonl")
    for session, file in ((ASKING, work / f"{ASKING}.jsonl"), (f"{ASKING}.{agent.stem}", agent)):
        assert len(lines(asking, session)) == len(file.read_bytes().splitlines())
    kept = ask(asking.url, f"/api/sessions/{ASKING}.{agent.stem}")["metadata"]["lineage"]
    assert kept["parentSession"] == ASKING


@pytest.mark.parametrize("how", ["gone", "link", "pipe"])
def test_a_transcript_that_cannot_be_read_is_noted_and_holds_nobody_up(
    hooks: Hooks, work: Path, tmp_path: Path, how: str
) -> None:
    file = work / f"{hooks.session}.jsonl"
    if how == "link":
        (tmp_path / "secret").write_text('{"uuid": "u9", "password": "hunter2"}\n')
        file.symlink_to(tmp_path / "secret")
    elif how == "pipe":
        os.mkfifo(file)
    hooks.say("SessionEnd", transcript_path=str(file))
    hooks.say("SessionStart", source="startup")
    hooks.deliver()
    assert hooks.types() == ["SessionEnd", "SessionStart"]
    assert ("transcript not kept" in hooks.log()) == (how != "gone")


def test_a_transcript_waits_for_the_gateway_like_everything_else(hooks: Hooks, transcript: Path) -> None:
    hooks.say("SessionEnd", transcript_path=str(transcript))
    hooks.say("Stop")
    tries = []

    def away_at_first(place: TranscriptPlace) -> None:
        tries.append(place)
        if len(tries) < 3:
            raise ServiceAway("away")
        hooks.keep(place)

    assert hooks.courier(keep=away_at_first).run() and len(tries) == 3
    assert [kind for kind in hooks.types() if not kind.startswith("holdfast.")] == ["SessionEnd", *["user"] * 3, "Stop"]
