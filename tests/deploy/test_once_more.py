"""CI runs a few failed tests once more, alone: what fails again fails the gate, what passes is named."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/once-more"
FAILED = Path(".pytest_cache/v/cache/lastfailed")
MAKEFILE = r"""
test:
	@echo "$(ARGS)" >> runs
	@if [ -e ok ] || { [ -n "$(ARGS)" ] && [ -e ok-alone ]; }; then exit 0; fi; \
		mkdir -p $(dir {failed}) && cp failing {failed} && exit 1
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder whose `make test` fails, unless a file `ok` is there, or `ok-alone` in a second run."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    (tmp_path / "Makefile").write_text(MAKEFILE.replace("{failed}", str(FAILED)))
    return tmp_path


def _gate(checkout: Path, failing: int) -> tuple[int, str, list[str]]:
    (checkout / "failing").write_text(json.dumps({f"tests/test_{n}.py::test_it[a b]": True for n in range(failing)}))
    plain = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    done = subprocess.run(
        [checkout / "scripts/once-more", "test"], capture_output=True, text=True, env=plain, timeout=60, check=False
    )
    return done.returncode, done.stdout, (checkout / "runs").read_text().splitlines()


def test_what_passes_is_run_once(checkout: Path) -> None:
    (checkout / "ok").touch()
    code, said, runs = _gate(checkout, 1)
    assert (code, said, runs) == (0, "", [""])


def test_what_passes_alone_is_named(checkout: Path) -> None:
    (checkout / "ok-alone").touch()
    code, said, runs = _gate(checkout, 3)
    assert code == 0
    assert "UNSTEADY" in said
    assert said.count("tests/test_2.py::test_it[a b]") == 2
    assert len(runs) == 2


def test_what_fails_alone_too_fails_the_gate(checkout: Path) -> None:
    code, said, runs = _gate(checkout, 1)
    assert code != 0
    assert "UNSTEADY" not in said
    assert len(runs) == 2


def test_many_failures_fail_the_gate_at_once(checkout: Path) -> None:
    (checkout / "ok-alone").touch()
    code, _, runs = _gate(checkout, 4)
    assert code != 0
    assert runs == [""]


def test_a_failure_that_names_no_test_fails_the_gate(checkout: Path) -> None:
    (checkout / "ok-alone").touch()
    code, _, runs = _gate(checkout, 0)
    assert code != 0
    assert runs == [""]
