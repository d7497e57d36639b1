"""The command line starts light: what is heavy is imported by the verb that needs it."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway.process import running

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
