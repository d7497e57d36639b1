"""A turn in a project's folder needs no server, no database and no HTTP client."""

from pathlib import Path

from tests.support.processes import python

HEAVY = (
    *("starlette", "fastapi", "uvicorn", "pydantic", "websockets", "httpx2", "apsw", "psycopg", "click"),
    *("holdfast.a2a", "holdfast.http", "holdfast.gateway", "holdfast.models.simulator"),
)
PROGRAM = """
import asyncio, sys
from holdfast.models import CompletionResponse, ScriptedBackend
from holdfast.runtime import Agent
agent = Agent(backend=ScriptedBackend([CompletionResponse("Hi.")]), project_root=sys.argv[1])
answer = asyncio.run(agent.run("Hello."))
print([name for name in sys.argv[2:] if name in sys.modules], answer.splitlines()[0])
"""


def test_a_turn_imports_nothing_heavy(tmp_path: Path) -> None:
    with python("-c", PROGRAM, str(tmp_path), *HEAVY) as process:
        out, err = process.communicate(timeout=60)
    assert (out, err) == ("[] Hi.\n", "")
