"""The longest tests begin first, and the others keep their order."""

import os
import subprocess
import sys
from pathlib import Path

SUITE = """
import pytest

def test_quick(): ...

@pytest.mark.long
def test_counted(): ...

@pytest.mark.long(seconds=20)
def test_long(): ...

@pytest.mark.parametrize("kills", [2, pytest.param(200, marks=pytest.mark.long(seconds=60))])
def test_kills(kills): ...
"""


def test_a_run_begins_with_the_longest(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    plugins = ("-p", "tests.support.longest_first", "-p", "no:cacheprovider", "-W", "ignore")
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-c", "/dev/null", *plugins, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    names = [line.partition("::")[2] for line in listed.stdout.splitlines() if "::" in line]
    assert names == ["test_kills[200]", "test_long", "test_quick", "test_counted", "test_kills[2]"]
