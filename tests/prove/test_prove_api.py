"""The proof as a program calls it, and as a test of pytest does."""

import asyncio
import os
import signal
import subprocess
import sys
import tomllib
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from tests.prove.prover import alive, events, gone
from tests.support.eventually import wait_until

import holdfast.prove
from holdfast.core.errors import InvalidInput
from holdfast.prove import Exit, Target, Verdict, prove, prove_async
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.targets import Choice, choose

ROOT = Path(__file__).parents[2]


def test_a_result_says_what_was_found_and_where_the_evidence_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = prove("crash", target="broken:memory-only", seed=0, artifacts=tmp_path)
    assert result.exit_code is Exit.DISPROVEN
    found = {outcome.proof.name: outcome.finding for outcome in result.proofs}
    assert found["name"].verdict is Verdict.PROVEN
    assert found["crash"].verdict is Verdict.DISPROVEN
    assert "Hongming" in found["crash"].reason
    assert {"summary.json", "events.jsonl", "report.html", "target-1.log"} <= {
        path.name for path in result.folder.iterdir()
    }
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("only", "options", "said"),
    [
        (("telepathy",), {}, "there is no proof named telepathy"),
        ((), {"url": "http://h", "command": "x"}, "exclude each other"),
        ((), {"target": "broken:everything"}, "there is no target"),
        ((), {"timeout": float("inf")}, "a number of seconds"),
        ((), {"timeout": float("nan")}, "a number of seconds"),
        ((), {"target": choose(Choice(url="http://h"), Path(), 1.0), "port": 80}, "takes no options of other targets"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_starts(
    only: tuple[str, ...], options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=said):
        prove(*only, artifacts=tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


async def test_where_a_loop_runs_the_blocking_form_points_at_the_other(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="an event loop is running"):
        prove("name", target="broken:none", artifacts=tmp_path)


class Borrowed:
    """Somebody's own target: here it lends its parts from one of ours, and counts what it is asked to do."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    async def kill(self) -> None:
        """End it at once."""
        self.asked.append("kill")
        await self._target.kill()

    def abandon(self) -> None:
        """Leave nothing behind."""
        self.asked.append("abandon")
        self._target.abandon()


async def test_any_object_that_is_a_target_can_be_proven(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    target = Borrowed(choose(Choice(name="broken:none"), tmp_path / "own", 30.0))
    result = await prove_async("crash", target=target, artifacts=tmp_path)
    assert result.exit_code is Exit.PROVEN
    assert target.asked == ["kill", "kill", "abandon"]


def ready_pid(artifacts: Path) -> int | None:
    return next((event["pid"] for event in events(artifacts) if event["event"] == "ready"), None)


async def test_a_cancelled_proof_is_cancelled_and_leaves_nothing_behind(tmp_path: Path) -> None:
    proving = asyncio.create_task(prove_async("long", "name", target="broken:none", artifacts=tmp_path))
    while ready_pid(tmp_path) is None:
        await asyncio.sleep(0.01)
    proving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await proving
    assert not alive(ready_pid(tmp_path) or 0)
    assert (tmp_path / "prove" / "latest" / "summary.json").exists()


def test_an_interrupted_proof_raises_the_interrupt_and_leaves_nothing_behind(tmp_path: Path) -> None:
    program = f"from holdfast.prove import prove; prove(target='broken:none', artifacts={str(tmp_path)!r})"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        pid = wait_until(lambda: ready_pid(tmp_path))
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in said
    assert wait_until(lambda: gone(pid))


def test_all_that_the_package_names_is_there_and_nothing_is_loaded_before_it_is_used() -> None:
    assert all(hasattr(holdfast.prove, name) for name in holdfast.prove.__all__)
    assert set(holdfast.prove.__all__) == {name for names in holdfast.prove.HOMES.values() for name in names}
    program = "import sys, holdfast.prove, holdfast.prove.pytest_plugin; print('httpx2' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout == "False\n"


TESTS = """
AGENT = "{python} -m holdfast.prove.broken {{}} --port {{{{port}}}} --data {{{{data}}}}"

def test_it_remembers(holdfast_prove):
    result = holdfast_prove("name", command=AGENT.format("none"))
    assert [outcome.proof.name for outcome in result.proofs] == ["name"]

def test_it_forgets(holdfast_prove):
    holdfast_prove("name", "crash", command=AGENT.format("memory-only"), seed=0)

def test_it_cannot_be_judged(holdfast_prove):
    holdfast_prove("duplicate", command=AGENT.format("none"))
"""


def test_a_test_of_pytest_fails_with_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "test_agent.py").write_text(TESTS.format(python=sys.executable))
    plugins = ("-p", "no:cacheprovider", "-p", "holdfast.prove.pytest_plugin")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path), "-W", "error", *plugins],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=100,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "disproven: command" in done.stdout
    assert "crash is disproven: Hongming was told and is not in the answer" in done.stdout
    assert "  expected: an answer to “What's my name?” with Hongming in it" in done.stdout
    assert "  show it:  curl -sS" in done.stdout
    assert "duplicate is inconclusive" in done.stdout
    assert "Traceback" not in done.stdout
    assert "name is" not in done.stdout
    evidence = next(line for line in done.stdout.splitlines() if line.startswith("evidence: "))
    assert (Path(evidence.removeprefix("evidence: ")) / "events.jsonl").exists()


def test_the_plugin_is_installed_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"holdfast": "holdfast.prove.pytest_plugin"}


def test_an_option_that_there_is_not_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no option repeat, sed"):
        prove("name", target="broken:none", artifacts=tmp_path, sed=1, repeat=3)  # type: ignore[call-arg]
    assert not list(tmp_path.iterdir())


def test_the_command_line_and_the_api_ask_with_the_same_options(tmp_path: Path) -> None:
    given = {"command": "serve {port}", "workspace": tmp_path, "seed": 0, "wire": "0.3", "timeout": 5.0}
    options = RuntimeOptions.of(("name",), {**given, "url": None, "proofs": ()}, arguments={})
    assert options == RuntimeOptions.of(("name",), given, arguments={})
    assert (options.choice.command, options.choice.workspace) == ("serve {port}", tmp_path.resolve())
    assert (options.draw_seed(), options.wire, options.timeout, options.repeat) == (0, "0.3", 5.0, 1)
    with pytest.raises(FrozenInstanceError):
        options.seed = 1  # type: ignore[misc]
