"""The command line starts light: what is heavy is imported by the verb that needs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway.process import running

from holdfast.__main__ import LOWEST

HEAVY = (
    *("fastapi", "pydantic", "starlette", "uvicorn", "apsw", "rich", "psycopg", "httpx2", "websockets"),
    *("prompt_toolkit", "markdown_it", "mcp", "holdfast.runtime"),
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["chat", "--help"],
        ["serve", "--help"],
        ["mcp", "--help"],
        ["sessions", "--help"],
        ["sessions", "verify", "--help"],
        ["sessions", "export", "--help"],
        ["sessions", "import", "--help"],
        ["db", "restore", "--help"],
        ["completion", "bash"],
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        "from holdfast.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert ended.stdout
    assert ended.stderr.strip() == "[]"


def test_beside_a_gateway_a_command_imports_neither_store_nor_server(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from holdfast.cli import main\n"
        f"main(['sessions', 'ls', '--data', {str(tmp_path)!r}], standalone_mode=False)\n"
        "print([name for name in ('holdfast.store', 'apsw', 'fastapi', 'uvicorn') if name in sys.modules])\n"
    )
    with running(tmp_path):
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert (ended.stdout, ended.stderr) == ("[]\n", "no sessions\n")


def test_a_gateway_starts_without_the_sdk_of_mcp() -> None:
    script = "import sys, holdfast.gateway.serve; print([name for name in ('mcp', 'mcp_types') if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "[]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the policies of Linux")
@pytest.mark.parametrize(("load", "policy"), [(0.0, "SCHED_IDLE"), (1e9, "SCHED_OTHER")])
def test_a_doctor_that_looks_lets_others_go_first_and_still_ends_where_all_is_taken(load: float, policy: str) -> None:
    assert scheduling(["doctor", "--help"], load) == f"{LOWEST} {policy}"


@pytest.mark.skipif(sys.platform != "linux", reason="the policies of Linux")
@pytest.mark.parametrize(
    "arguments", [["doctor", "--fix"], ["doctor", "--session-sqlite", "import"], ["doctor", "--session-sqlite=compact"]]
)
def test_a_doctor_that_changes_something_is_not_held_up(arguments: list[str]) -> None:
    assert scheduling([*arguments, "--help"], 0.0) == f"{os.nice(0)} SCHED_OTHER"


def scheduling(arguments: list[str], load: float) -> str:
    """How nice a command is, and by which policy it runs, on a machine with such a load."""
    script = (
        "import os, sys\n"
        f"sys.argv, os.getloadavg = ['holdfast', *{arguments!r}], lambda: ({load!r}, 0, 0)\n"
        "from holdfast.__main__ import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "names = {os.SCHED_IDLE: 'SCHED_IDLE', os.SCHED_OTHER: 'SCHED_OTHER'}\n"
        "print(os.nice(0), names[os.sched_getscheduler(0)], file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return ended.stderr.strip()
