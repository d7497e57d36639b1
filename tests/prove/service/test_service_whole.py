"""`holdfast prove service` for real: three programs on their frameworks, killed, seen in Chromium; and what is broken.

The programs' venvs are those of `make apps`. `make chaos ARGS="service"` does the same fifty times.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.eventually import wait_until
from tests.support.resumable import CHECKOUT
from tests.support.service_runs import prove_service, wrong_in

from holdfast.prove.service.broken.expected import KINDS
from holdfast.prove.service.browser import find

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
SEED = 18
SLOW = ("--timeout", "300")


def need_chromium() -> None:
    if find() is None:
        pytest.skip("NOT RUN: nobody has seen the dashboard, because there is no Chromium (scripts/chromium-here)")


def need_engine() -> None:
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        pytest.skip("NOT RUN: the programs were not tried in containers, because there is no Docker engine here")
    bases = ("holdfast-here/python", "python:3.13-slim-bookworm")
    if all(
        subprocess.run(["docker", "image", "inspect", each], capture_output=True, check=False).returncode
        for each in bases
    ):
        pytest.skip("NOT RUN: the programs were not tried in containers: there is no image to begin with here")


def test_the_whole_service_is_proven_whoever_is_killed(tmp_path: Path) -> None:
    code, summary = prove_service(SEED, tmp_path, "--kills", "random", *SLOW)
    assert wrong_in(code, summary) == []
    assert len(summary["kills"]) >= 2
    assert set(summary["sessions"]) == {"customer_comm", "email_solver", "claude_cli"}
    folder = Path(summary["evidence"])
    for name in ("report.html", "junit.xml", "summary.md", "events.jsonl"):
        assert (folder / name).stat().st_size, name
    need_chromium()
    assert len(summary["pictures"]) == 6 and summary["left_out"] == {}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_broken_on_purpose_is_seen_by_the_step_that_should_and_no_other(kind: str, tmp_path: Path) -> None:
    if KINDS[kind].step == "dashboard":
        need_chromium()
    only = KINDS[kind].program or "customer_comm"
    options = ("--target", f"broken:{kind}", "--only", only, "--kills", "none", "--cases", "2", *SLOW)
    code, summary = prove_service(SEED, tmp_path, *options)
    assert code == 1
    assert [step["name"] for step in summary["proofs"] if step["verdict"] != "proven"] == [KINDS[kind].step]


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


def project_of(folder: Path) -> str:
    """The compose project whose containers have something of this folder; empty as long as none runs."""
    told = docker("ps", "--no-trunc", "--format", '{{.Label "com.docker.compose.project"}} {{.Mounts}}')
    return next((line.split()[0] for line in told.splitlines() if str(folder) in line), "")


def test_nothing_is_left_of_a_proof_in_containers_that_is_killed(tmp_path: Path) -> None:
    need_engine()
    words = ["prove", "service", "--checkout", str(CHECKOUT), "--artifacts", str(tmp_path), "--compose", *SLOW]
    said = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-m", "holdfast", *words], stdout=said, stderr=said) as prover:
        while not (project := project_of(tmp_path)):
            assert prover.poll() is None
            time.sleep(0.1)
        prover.kill()
    ours = ("--quiet", "--filter", f"label=com.docker.compose.project={project}")
    wait_until(lambda: not docker("container", "ls", "--all", *ours), pause=0.1)
    wait_until(lambda: not docker("volume", "ls", *ours) + docker("network", "ls", *ours), pause=0.1)


def test_the_whole_service_is_proven_in_containers(tmp_path: Path) -> None:
    need_engine()
    assert (CHECKOUT / "deploy" / "compose.e2e.yml").exists()
    code, summary = prove_service(SEED, tmp_path, "--compose", "--timeout", "600")
    assert wrong_in(code, summary) == []
    assert len(summary["kills"]) == 4
