"""Whatever becomes of what a proof prints, the run comes to its end, and evidence and exit code are true."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.prove.prover import DEAD_PROXY, command

NAME = ("--only", "name")
ENVIRONMENT = {**os.environ, **DEAD_PROXY, "COLUMNS": "80"}


@pytest.fixture(scope="module")
def at(running: tuple[str, Path]) -> tuple[str, str]:
    """The target."""
    return "--url", running[0]


def verdict(artifacts: Path) -> str:
    """What the newest evidence says."""
    found: str = json.loads((artifacts / "prove" / "latest" / "summary.json").read_text())["verdict"]
    return found


@pytest.mark.parametrize("form", ["--ndjson", "--json", "--wire=1.0"])
def test_a_reader_that_hangs_up_is_no_error(at: tuple[str, str], tmp_path: Path, form: str) -> None:
    words = command(*at, *NAME, form, artifacts=tmp_path)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.stderr is not None
        said = run.stderr.read()
    assert "Traceback" not in said
    assert "error" not in said
    assert (run.returncode, verdict(tmp_path)) == (0, "proven")


def test_a_list_may_be_cut_off() -> None:
    words = command("--list", artifacts=Path("none"))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.stderr is not None
        assert run.stderr.read() == ""
    assert run.returncode == 0


def test_nobody_need_look_at_the_progress(at: tuple[str, str], tmp_path: Path) -> None:
    words = command(*at, *NAME, artifacts=tmp_path)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT) as run:
        assert run.stderr is not None
        run.stderr.close()
    assert (run.returncode, verdict(tmp_path)) == (0, "proven")


def test_a_proof_without_streams_has_its_verdict(at: tuple[str, str], tmp_path: Path) -> None:
    words = command(*at, *NAME, artifacts=tmp_path)
    done = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *words], check=False, env=ENVIRONMENT, timeout=60)
    assert (done.returncode, verdict(tmp_path)) == (0, "proven")


@pytest.mark.parametrize(("kind", "code"), [("none", 2), ("task-keyed", 1)])
def test_what_could_not_be_printed_is_not_green_and_hides_no_disproof(tmp_path: Path, kind: str, code: int) -> None:
    words = command("--target", f"broken:{kind}", "--only", "name", "--ndjson", artifacts=tmp_path)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT, timeout=60
        )
    assert done.returncode == code
    assert done.stderr.endswith("error: stdout could not be written: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_what_goes_to_one_place_is_there_in_the_order_in_which_it_was_said(at: tuple[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        command(*at, *NAME, "--repeat", "2", artifacts=tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"},
        timeout=60,
    )
    starts = (
        "proving",
        "name:",
        "run 1 of 2",
        "proving",
        "name:",
        "run 2 of 2",
        "proof",
        "name",
        "",
        "PROVEN",
        "report",
    )
    assert all(line.startswith(start) for line, start in zip(done.stdout.splitlines(), starts, strict=True))


def test_evidence_that_has_no_room_is_a_fault_and_no_defect_of_ours(at: tuple[str, str], tmp_path: Path) -> None:
    words = command(*at, *NAME, "--quiet", artifacts=tmp_path)
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *words],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: the evidence could not be written: File too large\nhint: see --artifacts DIR\n"
