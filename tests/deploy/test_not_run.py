"""A run of the tests that left some out says so at its end, each with its reason."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest

@pytest.mark.skipif(True, reason="NOT RUN: there is no tin opener (scripts/opener-here)")
@pytest.mark.parametrize("number", [1, 2])
def test_of_tins(number): pass

def test_of_mounts(): pytest.skip("NOT RUN: needs root")

def test_of_platforms(): pytest.skip("another platform's")

def test_of_nothing(): pass
"""


def said(tmp_path: Path, *options: str) -> str:
    """What a run of those tests says."""
    (tmp_path / "test_them.py").write_text(TESTS)
    plugins = ("-p", "tests.support.not_run", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "-c", "/dev/null", *plugins, *options]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_was_not_run_is_the_last_thing_that_is_said(tmp_path: Path) -> None:
    words = said(tmp_path)
    block = words.partition("! NOT RUN !")[2]
    assert "2 × there is no tin opener (scripts/opener-here)" in block
    assert "1 × needs root" in block
    assert "3 tests were NOT RUN" in block
    assert "platform" not in block
    assert "SKIPPED" not in block


def test_a_whole_run_says_nothing_of_it(tmp_path: Path) -> None:
    assert "NOT RUN" not in said(tmp_path, "-k", "test_of_nothing")
