"""`serve(handler)`: the agent on the pages, ten lines of it, is a process that answers and remembers."""

import asyncio
import json
import re
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from tests.a2a.harness import SECONDS, Client, tell, until, words

import holdfast.a2a
from holdfast.a2a import A2AServer
from holdfast.a2a.serve import web_server
from holdfast.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "a2a.md"


def in_the_docstring() -> str:
    """The agent in the package's docstring."""
    indented = re.findall(r"^(?:    .*\n|\n)+", holdfast.a2a.__doc__ or "", re.M)
    [code] = [block for block in indented if "serve(" in block]
    return textwrap.dedent(code)


def on_the_page() -> str:
    """The first agent on the page."""
    found = re.search(r"```python\n(.*?serve\(.*?)```", PAGE.read_text(), re.S)
    assert found
    return found[1]


@asynccontextmanager
async def process(code: str, folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, Client]]:
    """The code as a program in a folder, on a free port, once it answers."""
    program = folder / "agent.py"
    program.write_text(re.sub(r"port=8000", "port=0", code))
    child = await asyncio.create_subprocess_exec(sys.executable, str(program), cwd=folder)
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS) as http:
            client = Client("", http)
            lock = folder / "holdfast-data" / "holdfast.lock"

            async def answers() -> bool:
                assert child.returncode is None
                try:
                    said = json.loads(lock.read_text())
                    client.url = said["url"]
                    return said["pid"] == child.pid and (await http.get(f"{client.url}/agent-card")).status_code == 200
                except (OSError, ValueError, httpx2.TransportError):
                    return False

            await until(answers)
            yield child, client
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def test_an_agent_of_ten_lines_answers_remembers_and_survives(tmp_path: Path) -> None:
    text = on_the_page()
    assert text.strip() == in_the_docstring().strip()
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
    async with process(text, tmp_path) as (child, client):
        first = words(await client.send("one", message_id="m1"))
        card = (await client.http.get(f"{client.url}/.well-known/agent-card.json")).json()
        assert card["supportedInterfaces"][0]["url"] == f"{client.url}/a2a"
        child.kill()
        await child.wait()
    async with process(text, tmp_path) as (child, client):
        second = words(await client.send("two", message_id="m2"))
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    assert (first, second) == ("1: one", "2: two")


async def test_what_a_proxy_would_say_of_a_client_is_not_believed(store: Store, tmp_path: Path) -> None:
    server = A2AServer(store, tell, version="1", workspace=tmp_path, url=None)
    assert not web_server(server, 0).config.proxy_headers
