"""Agents of other frameworks behind A2A, against the simulator, killed and started again. Needs `make peers`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx2
import pytest
from tests.a2a.harness import Client, agent_process, free_port, sending, words
from tests.support.processes import Process
from tests.support.web import async_web_client

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-peers" / "bin" / "python"
SECONDS = 60.0

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not PYTHON.exists(), reason="NOT RUN: other people's frameworks need `make peers` first"),
]


@pytest.fixture(scope="module")
def simulator() -> Iterator[str]:
    """The base URL of a simulator process."""
    command = [sys.executable, "-m", "holdfast", "sim", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["base_url"]
        finally:
            process.terminate()


def agent(name: str, data: Path, port: int, model: str) -> AbstractAsyncContextManager[Process]:
    """The framework's agent, once it answers; killed at the end."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(data), "OPENAI_BASE_URL": model}
    program = (str(PYTHON), str(ROOT / "examples" / "agents" / f"{name}.py"), str(data), str(port))
    return agent_process(subprocess.Popen(program, env=environment, text=True), port, SECONDS)


@pytest.mark.parametrize("name", ["langgraph_agent", "openai_agents_agent"])
async def test_an_agent_of_this_framework_remembers_across_a_kill(name: str, tmp_path: Path, simulator: str) -> None:
    port = free_port()
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with async_web_client(timeout=SECONDS, limits=limits) as http:
        client = Client(f"http://127.0.0.1:{port}", http)
        async with agent(name, tmp_path, port, simulator):
            told = (await client.call("SendMessage", sending("Hi, my name is Zelda.", "c", "m1"), "1.0"))["result"]
            assert told["task"]["status"]["state"] == "TASK_STATE_COMPLETED", told
        async with agent(name, tmp_path, port, simulator):
            async with client.stream("SendStreamingMessage", sending("What's my name?", "c", "m2")) as stream:
                results = await stream.rest()
            pieces = [item["artifactUpdate"] for item in results if "artifactUpdate" in item]
            assert len(pieces) > 1, "the answer did not come in pieces"
            task = await client.get(pieces[0]["taskId"])
            assert "Zelda" in words(task)
            other = await client.send("What's my name?", context_id="other", message_id="m3")
            assert "Zelda" not in words(other)
