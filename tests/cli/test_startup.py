"""The command line starts light: what is heavy is imported by the verb that needs it."""

import subprocess
import sys

import pytest

HEAVY = ("fastapi", "pydantic", "starlette", "uvicorn", "apsw", "rich", "psycopg", "httpx2", "websockets")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["serve", "--help"],
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
