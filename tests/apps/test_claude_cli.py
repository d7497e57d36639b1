"""Claude Code as a program: killed at each step, it does each task once, within its rules, and all of it is told."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from apps.claude_cli.points import POINTS
from tests.support.app_runs import AppRuns, ToldSession, app_driver, app_runs, session
from tests.support.eventually import wait_until
from tests.support.web import LOCAL

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

NAME = "claude_cli"


@pytest.fixture(scope="module")
def driver() -> Iterator[subprocess.Popen[str]]:
    with app_driver(NAME) as found:
        yield found


@pytest.fixture
def runs(
    tmp_path: Path, driver: subprocess.Popen[str], gateway: str, request: pytest.FixtureRequest
) -> Iterator[AppRuns]:
    told = {"SESSION_ID": f"test-claude-{request.node.name}", "SESSION_SERVICE_URL": gateway}
    with app_runs(NAME, driver, tmp_path / "data", told) as found:
        yield found


def put(runs: AppRuns, name: str, words: str) -> None:
    inbox = runs.data / "inbox"
    inbox.mkdir(exist_ok=True)
    (runs.data / "new").write_text(words)
    (runs.data / "new").rename(inbox / f"{name}.md")


def told(runs: AppRuns, session_id: str | None = None) -> ToldSession:
    return session(runs.environment["SESSION_SERVICE_URL"], session_id or runs.environment["SESSION_ID"])


def claudes(runs: AppRuns) -> list[int]:
    """The command lines that run for this program."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, around = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:
            continue
        if b"_bundled/claude" in words and str(runs.data).encode() in around:
            found.append(int(process.name))
    return found


def test_killed_at_every_step_it_does_the_task_once(runs: AppRuns) -> None:
    put(runs, "t1", 'Write the words "hello claude" to the file hello.txt')
    for point in POINTS:
        assert runs.run("--once", APP_CRASH_AT=point) == -9, (point, runs.errors())
        wait_until(lambda: not claudes(runs))  # it ends with the program
    assert runs.run("--once") == 0, runs.errors()
    assert (runs.data / "workspace" / "hello.txt").read_text() == "hello claude"
    assert [path.stem for path in (runs.data / "answers").iterdir()] == ["t1"]
    assert [path.stem for path in (runs.data / "done").iterdir()] == ["t1"]
    found = told(runs)
    assert found.goals == {"case-t1": "completed"}
    assert len(found.responses) == len(found.actions("task_started")) == len(found.actions("task_finished")) == 1
    name = found.responses[0]["claudeSession"]
    assert found.document["state"]["phase"] == "stopped"
    wait_until(lambda: _has_ended(runs, name), pause=0.2)
    assert not list((runs.data / "spool-hooks").rglob("refused.jsonl"))
    own = told(runs, name)
    assert own.document["metadata"]["lineage"]["parentSession"] == runs.environment["SESSION_ID"]
    assert [each["tool_name"] for each in own.actions("PreToolUse")].count("Write") >= 1
    prompts = [each["prompt"] for each in own.actions("UserPromptSubmit")]
    assert prompts[0].startswith("Write the words")


def test_a_transcript_without_the_task_is_begun_anew(runs: AppRuns) -> None:
    put(runs, "t1", 'Write the words "hello claude" to the file hello.txt')
    assert runs.run("--once", APP_CRASH_AT="claude:writes") == -9, runs.errors()
    (transcript,) = (runs.data / "home" / ".claude" / "projects").glob("*/*.jsonl")
    transcript.write_text('{"type":"mode","mode":"default"}\n')
    assert runs.run("--once") == 0, runs.errors()
    assert (runs.data / "workspace" / "hello.txt").read_text() == "hello claude"
    assert told(runs).goals == {"case-t1": "completed"}


def test_claude_code_ends_with_the_program(runs: AppRuns) -> None:
    put(runs, "t1", "Think for 300 seconds.")
    assert runs.run("--once", APP_CRASH_AT="claude:writes") == -9, runs.errors()
    wait_until(lambda: not claudes(runs))
    runs.begin("--once")
    wait_until(lambda: claudes(runs), pause=0.05)
    assert runs.health()["step"] == "task t1"
    assert runs.stop() == 0
    assert not claudes(runs)
    assert told(runs).actions("program_stopped")[-1] == {"reason": "signal", "step": "task t1", "clean": True}


def _has_ended(runs: AppRuns, name: str) -> bool:
    url = f"{runs.environment['SESSION_SERVICE_URL']}/api/actions/{name}?type=SessionEnd&limit=10"
    answer = httpx2.get(url, **LOCAL)
    return answer.status_code == 200 and bool(answer.json()["actions"])


def test_the_rules_hold_and_the_end_is_logged(runs: AppRuns, tmp_path: Path) -> None:
    rules = Path(__file__).parents[2] / "apps" / "claude_cli" / "governance" / ".claude" / "settings.json"
    put(runs, "t1", f'Write the words "outside" to the file {tmp_path}/outside.txt')
    put(runs, "t2", 'Write the words "{}" to the file .claude/settings.json')
    put(runs, "t3", 'Write the words "inside" to the file notes/inside.txt')
    (runs.data / "inbox" / "t0.md").write_text("  \n")
    runs.begin()
    wait_until(lambda: runs.health()["phase"] == "ready" or None, pause=0.1)
    assert runs.health()["counts"] == {"waiting": 0, "done": 3, "failed": 0, "refused": 1, "answers": 3}
    assert runs.stop() == 0
    assert not (tmp_path / "outside.txt").exists()
    assert (runs.data / "workspace" / ".claude" / "settings.json").read_bytes() == rules.read_bytes()
    assert (runs.data / "workspace" / "notes" / "inside.txt").read_text() == "inside"
    assert told(runs).actions("program_stopped") == [
        {"reason": "signal", "step": "waiting for tasks", "clean": True},
    ]
