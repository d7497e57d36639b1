"""`import holdfast.client` brings core along, and the HTTP client once it connects: nothing of a server."""

import subprocess
import sys

HEAVY = ("fastapi", "starlette", "uvicorn", "apsw", "psycopg", "click", "rich", "websockets", "pydantic")
HEAVY_OURS = ("store", "gateway", "a2a", "models", "runtime", "prove", "cli")
CODE = """
import sys
import holdfast.client
print(sorted({name.split(".")[0] for name in sys.modules} & set(sys.argv[1].split())))
print(sorted({name for name in sys.modules if name.startswith("holdfast.")} & set(sys.argv[2].split())))
print("httpx2" in sys.modules)
agent = holdfast.client.HookAgentBlocking("s", url="http://127.0.0.1:1")
agent.test_connection()
print(sorted({name.split(".")[0] for name in sys.modules} & set(sys.argv[1].split())))
print("httpx2" in sys.modules)
"""


def test_importing_the_client_is_light() -> None:
    ours = " ".join(f"holdfast.{name}" for name in HEAVY_OURS)
    done = subprocess.run(
        [sys.executable, "-c", CODE, " ".join(HEAVY), ours], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split("\n")[:5] == ["[]", "[]", "False", "[]", "True"]
