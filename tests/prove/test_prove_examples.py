"""The examples that are targets prove what they claim, on the official SDK and as a stranger would write them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.prove.prover import Proved, prove

ROOT = Path(__file__).parents[2]
AT_ONCE = "0"


def durable(folder: Path, *options: str, pace: str = "1") -> Proved:
    """Prove the agent that does it right."""
    data = folder / "data"
    (data / "workspace").mkdir(parents=True)
    line = f"{sys.executable} {ROOT / 'examples' / 'targets' / 'sdk_durable.py'} {data} {{port}} {pace}"
    workspace = ("--workspace", str(data / "workspace"))
    return prove("--command", line, *workspace, *options, "--json", artifacts=folder / "artifacts")


@pytest.mark.long
@pytest.mark.parametrize("wire", ["0.3", "1.0"])
def test_an_agent_whose_task_has_ended_before_the_follow_up_rightly_refuses_it(wire: str, tmp_path: Path) -> None:
    reasons = []
    for attempt in range(4):  # on a busy machine the question may come before the task has ended, and is then answered
        proved = durable(tmp_path / str(attempt), "--only", "task-follow-up", "--wire", wire, pace=AT_ONCE)
        assert proved.verdicts() == {"task-follow-up": "proven"}
        reasons.append(proved.summary["proofs"][0]["reason"])
        if "the task had ended and takes no more messages" in reasons[-1]:
            return
    pytest.fail(f"the task never ended before the question: {reasons}")


@pytest.mark.long
@pytest.mark.parametrize("pace", ["1", AT_ONCE])
def test_an_agent_on_the_sdk_that_keeps_all_on_disk_is_proven(pace: str, tmp_path: Path) -> None:
    options = ("--profile", "continuity,files,memory", "--turns", "12", "--timeout", "60")
    proved = durable(tmp_path, *options, pace=pace)
    assert proved.exit_code == 0, proved.stdout
    assert {"name", "crash", "duplicate", "task-follow-up", "file-later", "memory-deep"} <= set(proved.verdicts())
    assert set(proved.verdicts().values()) == {"proven"}


FRAMEWORKS = ROOT / ".venv-peers" / "bin" / "python"
FRAMEWORK_AGENTS = ("langgraph_agent", "langgraph_own_store", "openai_agents_agent", "openai_agents_own_store")


@pytest.fixture(scope="module")
def simulator() -> Iterator[str]:
    """The base URL of a model that costs nothing."""
    command = [sys.executable, "-m", "holdfast", "sim", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["base_url"]
        process.terminate()


@pytest.mark.e2e
@pytest.mark.skipif(not FRAMEWORKS.exists(), reason="NOT RUN: other people's frameworks need `make peers` first")
@pytest.mark.parametrize("agent", FRAMEWORK_AGENTS)
def test_an_agent_of_another_framework_is_proven_on_continuity(agent: str, simulator: str, tmp_path: Path) -> None:
    line = f"{FRAMEWORKS} {ROOT / 'examples' / 'agents' / agent}.py {{data}} {{port}}"
    options = ("--command", line, "--turns", "12", "--timeout", "60", "--json")
    # The proof asks no proxy for what is on this machine; the agent's own client does unless it is told.
    reaches = {"OPENAI_BASE_URL": simulator, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    proved = prove(*options, artifacts=tmp_path, environment=reaches)
    assert proved.exit_code == 0, proved.stdout
    assert {"name", "restart", "crash", "isolation", "parallel"} <= set(proved.verdicts())


def test_every_example_that_is_a_target_is_proven_or_shows_a_defect() -> None:
    known = {"sdk_durable.py", "sdk_memory.py", "sdk_database.py", *(f"{agent}.py" for agent in FRAMEWORK_AGENTS)}
    found = {path.name for folder in ("targets", "agents") for path in (ROOT / "examples" / folder).glob("*.py")}
    assert found == known
