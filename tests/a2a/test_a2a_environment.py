"""`serve_from_environment`: an agent in a container is told all that it needs by variables."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from tests.a2a.harness import SECONDS, Client, message, words
from tests.support.eventually import eventually
from tests.support.web import async_web_client

PROGRAM = """
from collections.abc import AsyncIterator
from holdfast.a2a import Turn, data_folder, serve_from_environment

FOLDER = data_folder("echo")


async def echo(turn: Turn) -> AsyncIterator[str]:
    (turn.workspace / "seen.txt").write_text(turn.text)
    (FOLDER / "seen.txt").write_text(turn.text)
    yield f"{len(turn.history) // 2 + 1}: {turn.text}"


if __name__ == "__main__":
    serve_from_environment(echo, name="echo", version="7", resume=True)
"""
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}


async def started(folder: Path, **variables: str) -> asyncio.subprocess.Process:
    program = folder / "agent.py"
    program.write_text(PROGRAM)
    environment = {"PATH": os.environ["PATH"], **variables}
    return await asyncio.create_subprocess_exec(
        sys.executable, str(program), cwd=folder, env=environment, stderr=asyncio.subprocess.PIPE
    )


@asynccontextmanager
async def agent(folder: Path, data: Path, **variables: str) -> AsyncIterator[Client]:
    """The program with these variables, once it says where it serves."""
    child = await started(folder, **{"PORT": "0", **variables})
    try:
        async with async_web_client(timeout=SECONDS) as http:
            client = Client("", http)

            async def answers() -> bool:
                assert child.returncode is None
                try:
                    said = json.loads((data / "holdfast.lock").read_text())
                    client.url = said["url"].replace("0.0.0.0", "127.0.0.1")
                    return said["pid"] == child.pid and (await http.get(f"{client.url}/agent-card")).status_code == 200
                except (OSError, ValueError, httpx2.TransportError):
                    return False

            await eventually(answers)
            yield client
    finally:
        child.kill()
        await child.communicate()


async def refused(folder: Path, **variables: str) -> str:
    """What it says when it cannot serve."""
    child = await started(folder, **variables)
    async with asyncio.timeout(SECONDS):
        _, said = await child.communicate()
    assert child.returncode == 2
    return said.decode()


async def test_without_variables_data_and_workspace_are_below_the_folder_where_it_starts(tmp_path: Path) -> None:
    async with agent(tmp_path, tmp_path / "data") as client:
        assert words(await client.send("hi")) == "1: hi"
    assert (tmp_path / "data" / "workspace" / "seen.txt").read_text() == "hi"
    assert (tmp_path / "data" / "echo" / "seen.txt").read_text() == "hi"


async def test_data_and_workspace_are_where_the_variables_say(tmp_path: Path) -> None:
    data, desk = tmp_path / "volume", tmp_path / "desk" / "of" / "it"
    async with agent(tmp_path, data, DATA=str(data), WORKSPACE=str(desk)) as client:
        card = (await client.http.get(f"{client.url}/agent-card")).json()
        assert words(await client.send("hi", message_id="m1")) == "1: hi"
    async with agent(tmp_path, data, DATA=str(data), WORKSPACE=str(desk)) as client:
        assert words(await client.send("again", message_id="m2")) == "2: again"
    assert (desk / "seen.txt").read_text() == "again"
    assert (data / "echo" / "seen.txt").read_text() == "again"
    assert not (data / "workspace").exists()
    assert (card["name"], card["version"]) == ("echo", "7")
    assert card["protocolVersion"].startswith("0.3"), "clients of both versions read the card"
    assert card["supportedInterfaces"]


async def test_with_a_token_every_call_must_carry_it(tmp_path: Path) -> None:
    async with agent(tmp_path, tmp_path / "data", A2A_TOKEN="opensesame") as client:
        for path in ("/agent-card", "/.well-known/agent-card.json", "/health"):
            assert (await client.http.get(client.url + path)).status_code == 200, path
        card = (await client.http.get(client.url + "/agent-card")).json()
        assert card["securitySchemes"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message("hi", None)}
        for wrong in ("", "opensesam", "opensesame2", "Opensesame", "ünïcode"):
            headers = [(b"authorization", f"Bearer {wrong}".encode())] if wrong else []
            for path in ("/a2a", "/a2a/", "/a2a/uploads", "/elsewhere"):
                answer = await client.http.post(client.url + path, json=body, headers=headers)
                assert answer.status_code == 401, (wrong, path)
                assert answer.headers["www-authenticate"] == "Bearer"
                assert answer.json()["code"] == "unauthorized"
        for said in ("opensesame", "Basic opensesame"):
            answer = await client.http.post(client.url + "/a2a", json=body, headers={"Authorization": said})
            assert answer.status_code == 401, said
        two = [(b"authorization", b"Bearer opensesame"), (b"authorization", b"Bearer other")]
        assert (await client.http.post(client.url + "/a2a", json=body, headers=two)).status_code == 401
        listing = {"A2A-Version": "1.0", "Authorization": "bearer opensesame"}
        listed = await client.http.post(client.url + "/a2a", json=LISTING, headers=listing)
        assert listed.json()["result"]["totalSize"] == 0, "what was refused began nothing"
        told = await client.http.post(client.url + "/a2a", json=body, headers={"Authorization": "Bearer opensesame"})
        assert told.json()["result"]["status"]["state"] == "completed"


async def test_a_name_of_its_own_is_told_to_it_unless_callers_have_a_token(tmp_path: Path) -> None:
    """In a container, clients come by a name that the agent cannot know."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message("hi", None)}

    async def statuses(client: Client, token: str = "") -> dict[str, int]:
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        hosts = ("runtime:8000", "agents.example", "evil.example")
        posts = [
            await client.http.post(client.url + "/a2a", json=body, headers={**sent, "Host": host}) for host in hosts
        ]
        return {host: answer.status_code for host, answer in zip(hosts, posts, strict=True)}

    async with agent(tmp_path, tmp_path / "data", ALLOW_HOST="runtime, agents.example") as client:
        assert await statuses(client) == {"runtime:8000": 200, "agents.example": 200, "evil.example": 421}
    async with agent(tmp_path, tmp_path / "data", HOST="0.0.0.0", A2A_TOKEN="t") as client:
        assert set((await statuses(client)).values()) == {401}
        assert set((await statuses(client, "t")).values()) == {200}
        foreign = {"Authorization": "Bearer t", "Origin": "https://evil.example"}
        assert (await client.http.post(client.url + "/a2a", json=body, headers=foreign)).status_code == 403


@pytest.mark.parametrize("port", ["http", "-1", "65536", "8000/tcp"])
async def test_what_is_no_port_is_refused(tmp_path: Path, port: str) -> None:
    said = await refused(tmp_path, PORT=port)
    assert said.startswith(f"error: PORT is {port!r}")
    assert "hint: " in said


async def test_others_are_not_served_without_a_token(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        said = await refused(tmp_path, HOST=host, PORT="0")
        assert "A2A_TOKEN" in said, host
    assert not (tmp_path / "data" / "holdfast.db").exists()
