"""The tests of exploration are worth something: they notice every edit of a long list."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.prove.explore.mutants import MUTANTS


@pytest.mark.long(seconds=150)
def test_every_edit_of_model_checker_and_shrinker_is_noticed() -> None:
    command = [sys.executable, "-m", "tests.prove.explore.mutants"]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=850)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(MUTANTS)} of {len(MUTANTS)} edits were noticed" in done.stdout
