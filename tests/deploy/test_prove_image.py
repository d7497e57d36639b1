"""Images under proof: real containers, killed and started again, on a network without a way out.

Needs a Docker engine. Where images cannot be pulled, `scripts/containers-here` makes what to build on.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.deploy.test_compose import STAND_INS, command, compose_command
from tests.support.eventually import wait_until

from holdfast.prove.runtime.proofs import GATE

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
RUNTIME = "holdfast-test/runtime"
TEMPLATES = ("langgraph", "pydantic-ai")
"""Those whose images are built soonest."""
SERVE = "printf %s $A2A_TOKEN >/dev/shm/token; exec holdfast serve --token-file /dev/shm/token"
FORGETFUL = f"rm -rf /data/*; {SERVE}"
SLOW = "exec sleep 600"
SILENT = "echo no model was named >&2; exit 4"
CURIOUS = f"""
echo "$WISH" $OPENAI_BASE_URL
python3 -c "import socket; socket.create_connection(('192.0.2.1', 53), 3)" 2>/dev/null || echo no way out
{SERVE}
"""


def built(name: str, dockerfile: str, *more: str) -> str:
    words = ["docker", "build", "--network", "host", "--tag", name, "--file", dockerfile, *more]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return name


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """What this machine builds images on; afterwards nothing of the proofs is left."""
    compose_command()
    here = command("docker", "image", "inspect", STAND_INS["BASE_IMAGE"]).returncode == 0
    base = STAND_INS["BASE_IMAGE"] if here else "python:3.13-slim-bookworm"
    if not here and command("docker", "pull", base).returncode:
        pytest.skip("NOT RUN: images were not proven: no image can be pulled here (scripts/containers-here)")
    yield {"BASE_IMAGE": base, "BUILD_NETWORK": "host"}
    for kind in (["ps", "--all"], ["volume", "ls"], ["network", "ls"]):
        assert "holdfast-proof-" not in command("docker", *kind).stdout


@pytest.fixture(scope="module")
def runtime(environment: dict[str, str]) -> str:
    base = f"BASE_IMAGE={environment['BASE_IMAGE']}"
    return built(RUNTIME, "deploy/Dockerfile", "--target", "runtime", "--build-arg", base, ".")


def variant(name: str, script: str, place: Path) -> str:
    """An image like ours that does this when it starts."""
    (place / "entry").write_text(script)
    file = place / "Dockerfile"
    file.write_text(f'FROM {RUNTIME}\nCOPY entry /entry\nENTRYPOINT ["sh", "/entry"]\n')
    return built(name, str(file), str(place))


def canary(folder: Path, environment: dict[str, str], image: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What a release waits for, as a template's own CI runs it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        [ROOT / "scripts" / "run-canary.sh", "--artifacts", str(folder), *options],
        env={**os.environ, **environment, "TEMPLATE_IMAGE": image, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_our_image_holds_through_real_kills(runtime: str, environment: dict[str, str], tmp_path: Path) -> None:
    only = ("--only", "name,file-only,file-caption,memory,tool-use,restart,crash,pause")
    done = canary(tmp_path, environment, runtime, *only)
    assert done.returncode == 0, done.stdout + done.stderr
    latest = tmp_path / "prove" / "latest"
    summary = json.loads((latest / "summary.json").read_text())
    assert summary["target"]["name"] == runtime
    assert {outcome["verdict"] for outcome in summary["proofs"]} == {"proven"}
    assert (latest / "data" / "holdfast.db").stat().st_size > 0
    events = [json.loads(line)["event"] for line in (latest / "events.jsonl").read_text().splitlines()]
    assert {"start", "stop", "kill", "pause"} <= set(events)
    assert len(list(latest.glob("target-*.log"))) == 4


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_image_of_a_template_holds_on_the_four_gates(
    template: str, environment: dict[str, str], tmp_path: Path
) -> None:
    base = f"BASE_IMAGE={environment['BASE_IMAGE']}"
    image = built(f"holdfast-test/{template}", f"templates/{template}/Dockerfile", "--build-arg", base, ".")
    done = canary(tmp_path, environment, image)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "prove" / "latest" / "summary.json").read_text())
    assert {each["name"]: each["verdict"] for each in summary["proofs"]} == dict.fromkeys(GATE, "proven")
    assert (tmp_path / "prove" / "latest" / "data" / template).is_dir(), "the runtime kept nothing of its own"


def test_an_image_that_forgets_is_disproven_with_its_store_and_its_log(
    runtime: str, environment: dict[str, str], tmp_path: Path
) -> None:
    image = variant("holdfast-test/forgetful", FORGETFUL, tmp_path)
    done = canary(tmp_path, environment, image, "--only", "name,crash", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert {each["name"]: each["verdict"] for each in json.loads(done.stdout)["proofs"]} == {
        "name": "proven",
        "crash": "disproven",
    }
    latest = tmp_path / "prove" / "latest"
    assert (latest / "data" / "holdfast.db").exists()
    assert (latest / "target-1.log").exists()


def test_an_image_that_does_not_start_is_a_fault_that_says_its_last_words(
    runtime: str, environment: dict[str, str], tmp_path: Path
) -> None:
    done = canary(tmp_path, environment, variant("holdfast-test/silent", SILENT, tmp_path), "--only", "name", "--json")
    assert done.returncode == 2
    assert "it ended with exit code 4 before it was ready; its last words: no model was named" in done.stdout


@pytest.mark.parametrize("moment", ["it runs", "it is made"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_nothing_is_left_of_a_proof_that_is_ended(
    runtime: str, environment: dict[str, str], tmp_path: Path, number: int, moment: str
) -> None:
    image = variant("holdfast-test/slow", SLOW, tmp_path)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    words = [sys.executable, "-m", "holdfast", "prove", "--image", image, "--artifacts", str(tmp_path / "proof")]
    settings = {**os.environ, **environment, "TMPDIR": str(secrets), "A2A_TOKEN": "kept"}

    def made() -> list[str]:
        kinds = (["ps", "--all", "--format", "{{.Names}}"], ["volume", "ls"], ["network", "ls"])
        return [line for kind in kinds for line in command("docker", *kind).stdout.splitlines() if "proof-" in line]

    with subprocess.Popen(words, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prover:
        wait_until(lambda: list(secrets.iterdir()))
        if moment == "it runs":
            wait_until(lambda: command("docker", "ps", "--quiet", "--filter", f"ancestor={image}").stdout, pause=0.1)
            assert len(made()) >= 4
        prover.send_signal(number)
    wait_until(lambda: not list(secrets.iterdir()), pause=0.1)
    wait_until(lambda: not made(), pause=0.1)


def test_an_image_that_is_not_there_is_a_fault(environment: dict[str, str], tmp_path: Path) -> None:
    done = canary(tmp_path, environment, "holdfast-test/is-not-there:1", "--only", "name")
    assert done.returncode == 2
    assert "PROVEN" not in done.stdout


def test_there_is_no_way_out_and_the_image_is_told_what_it_was_to_be_told(
    runtime: str, environment: dict[str, str], tmp_path: Path
) -> None:
    image = variant("holdfast-test/curious", CURIOUS, tmp_path)
    wish = """a "table" for $two, it's #2"""
    done = canary(tmp_path, environment, image, "--only", "name", "--env", f"WISH={wish}")
    assert done.returncode == 0, done.stdout + done.stderr
    log = (tmp_path / "prove" / "latest" / "target-1.log").read_text()
    assert f"{wish} http://sender:18080/v1" in log
    assert "no way out" in log


def shell_lines(steps: list[dict[str, str]]) -> list[str]:
    """What a workflow runs itself."""
    return [step["run"] for step in steps if "run" in step]


def onboarded(repository: Path) -> list[str]:
    """The shell lines of the workflow that `holdfast onboard` writes."""
    words = [sys.executable, "-m", "holdfast", "onboard", str(repository), "--forge", "github"]
    subprocess.run(words, check=True, capture_output=True)
    workflow = yaml.safe_load((repository / ".github" / "workflows" / "session-continuity-e2e.yml").read_text())
    return shell_lines(workflow["jobs"]["session-continuity-e2e"]["steps"])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the jobs of one runner install Holdfast."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize(("script", "code"), [(SERVE, 0), (SILENT, 1)], ids=["remembers", "does not start"])
def test_the_workflow_of_a_template_does_what_it_says(
    runtime: str, environment: dict[str, str], tmp_path: Path, home: Path, script: str, code: int
) -> None:
    repository = tmp_path / "template"
    repository.mkdir()
    (repository / "entry").write_text(script)
    (repository / "Dockerfile").write_text(f'FROM {RUNTIME}\nCOPY entry /entry\nENTRYPOINT ["sh", "/entry"]\n')
    page = tmp_path / "page.md"
    given = {"HOME": str(home), "TEMPLATE_IMAGE": "template-under-proof", "HOLDFAST_REQUIREMENT": str(ROOT)}
    given |= {"GITHUB_STEP_SUMMARY": str(page), "GITHUB_ACTIONS": "true"} if code == 0 else {}
    codes = []
    for lines in onboarded(repository):
        step = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", lines],
            cwd=repository,
            env={**os.environ, **environment, **given},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        codes.append(min(step.returncode, 1))
    assert codes == [0, code, 0], step.stdout + step.stderr
    assert (repository / ".holdfast-canary" / "sender.tar").stat().st_size > 1_000_000
    if code == 0:
        assert "proven" in page.read_text()
    else:
        assert "no model was named" in (repository / ".artifacts" / "prove" / "latest" / "summary.json").read_text()


def test_the_action_asks_for_what_a_release_waits_for() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["inputs"]["only"]["default"] == "name,file-only,file-caption,memory"
    (_, prove) = shell_lines(action["runs"]["steps"])
    assert 'prove --image "$IMAGE" --only "$ONLY"' in prove
    assert "${{" not in prove  # what is given there would be run
