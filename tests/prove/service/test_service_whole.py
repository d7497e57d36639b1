"""`holdfast prove service` for real: three programs on their frameworks, killed, seen in Chromium; and what is broken.

The programs' venvs are those of `make apps`. `make chaos ARGS="service"` does the same fifty times.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
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


def test_the_whole_service_is_proven_in_containers(tmp_path: Path) -> None:
    need_engine()
    assert (CHECKOUT / "deploy" / "compose.e2e.yml").exists()
    code, summary = prove_service(SEED, tmp_path, "--compose", "--timeout", "600")
    assert wrong_in(code, summary) == []
    assert len(summary["kills"]) == 4
