"""`holdfast serve` as a real process: it says where it is, holds its store alone, and stops in order."""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.process import PATIENCE, running
from tests.support.processes import ended, first_line, holdfast, python
from tests.support.web import LOCAL, async_web_client
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from holdfast.store import open_store


def refused(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    tried = ended("serve", *arguments, variables=variables)
    assert tried.returncode == 2, tried.stderr
    assert "Traceback" not in tried.stderr
    return tried


async def test_a_stop_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged: dict[str, int] = {}
    enough = asyncio.Event()

    with running(tmp_path) as gateway:

        async def write(writer: int) -> None:
            async with async_web_client(base_url=gateway.url) as client:
                with contextlib.suppress(httpx2.TransportError):
                    for number in range(100_000):
                        key = f"{writer}-{number}"
                        answer = await client.post("/api/actions/s", json={"type": "n", "details": {"key": key}})
                        if answer.status_code != 201:
                            assert answer.status_code == 503
                            return
                        acknowledged[key] = answer.json()["seq"]
                        if len(acknowledged) > 500:
                            enough.set()

        writers = [asyncio.create_task(write(number)) for number in range(32)]
        async with asyncio.timeout(PATIENCE), connect(gateway.live, proxy=None, open_timeout=PATIENCE) as live:
            await live.recv()
            await enough.wait()
            gateway.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed):
                while True:
                    await live.recv()
            assert live.close_code == 1012
            await asyncio.gather(*writers)
        _, err = await asyncio.to_thread(gateway.process.communicate, timeout=PATIENCE)
        assert (gateway.process.returncode, err) == (0, "")

    async with await open_store(f"sqlite:///{tmp_path}/holdfast.db") as store:
        stored = {event.value()["key"]: event.seq for event in await store.read("s")}
    assert len(acknowledged) > 500
    assert acknowledged.keys() - stored.keys() == set()
    assert {key: stored[key] for key in acknowledged} == acknowledged


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_success(tmp_path: Path, number: signal.Signals) -> None:
    with python("-m", "holdfast", "serve", "--json", "--port", "0", "--data", str(tmp_path)) as process:
        url = json.loads(first_line(process))["url"]
        assert httpx2.get(f"{url}/readyz", **LOCAL).status_code == 200
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")


async def rpc(client: httpx2.AsyncClient, url: str, method: str, params: dict[str, Any]) -> httpx2.Response:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await client.post(f"{url}/a2a", json=call, headers={"A2A-Version": "1.0"})


async def say(client: httpx2.AsyncClient, url: str, text: str, message_id: str, *, wait: bool = True) -> str:
    message = {"messageId": message_id, "contextId": "c1", "role": "ROLE_USER", "parts": [{"text": text}]}
    params = {"message": message, "configuration": {"returnImmediately": not wait}}
    return (await rpc(client, url, "SendMessage", params)).text


async def task_at_work(client: httpx2.AsyncClient, url: str) -> str:
    """The id of the task that is at work, once one is."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = (await rpc(client, url, "ListTasks", {"status": "TASK_STATE_WORKING"})).json()["result"]["tasks"]
            if found:
                task_id: str = found[0]["id"]
                return task_id
            await asyncio.sleep(0.01)


async def test_the_agent_answers_and_remembers_over_a_restart(tmp_path: Path) -> None:
    async with async_web_client() as client:
        with running(tmp_path) as gateway:
            card = (await client.get(f"{gateway.url}/.well-known/agent-card.json")).json()
            assert card["supportedInterfaces"][0]["url"] == f"{gateway.url}/a2a"
            await say(client, gateway.url, "My name is Zq7kfa.", "m1")
            assert gateway.stop() == (0, "")
        with running(tmp_path) as gateway:
            assert "Zq7kfa" in await say(client, gateway.url, "What is my name?", "m2")


async def test_a_turn_under_way_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    """It is left to be begun again: whoever waited is told so, and finds it in the same task after the restart."""
    text = "Think for 60 seconds."
    async with async_web_client() as client:
        with running(tmp_path) as gateway:
            thinking = asyncio.create_task(say(client, gateway.url, text, "m1"))
            task_id = await task_at_work(client, gateway.url)
            gateway.process.send_signal(signal.SIGTERM)
            assert "the server stopped before the turn ended" in await thinking
            _, err = await asyncio.to_thread(gateway.process.communicate, timeout=PATIENCE)
            assert gateway.process.returncode == 0
            [said] = err.splitlines()
            assert said.endswith(f"task {task_id} is given back: the server stops")
        with running(tmp_path) as gateway:
            again = json.loads(await say(client, gateway.url, text, "m1", wait=False))["result"]["task"]
    assert again["id"] == task_id
    assert again["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}


def test_a_second_gateway_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        holder = json.loads((tmp_path / "holdfast.lock").read_text())
        assert (holder["pid"], holder["url"]) == (gateway.process.pid, gateway.url)
        second = refused("--port", "0", "--data", str(tmp_path), "--json")
        assert f"error: the server at {gateway.url} (pid {gateway.process.pid}) holds" in second.stderr
        assert "hint: " in second.stderr
        problem = json.loads(second.stdout)
        assert (problem["code"], problem["url"]) == ("store_in_use", gateway.url)
        other = refused(
            "--port", "0", "--data", str(tmp_path / "other"), "--store", f"sqlite:///{tmp_path}/holdfast.db"
        )
        assert gateway.url in other.stderr
        assert gateway.stop() == (0, "")
    assert (tmp_path / "holdfast.lock").read_text() == ""
    with running(tmp_path) as gateway:
        gateway.process.kill()
        gateway.process.wait(PATIENCE)
    with running(tmp_path) as gateway:
        assert gateway.stop() == (0, "")


def test_a_port_in_use_is_said_plainly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        tried = refused("--data", str(tmp_path), HOLDFAST_PORT=port)
    assert f"error: cannot listen on 127.0.0.1 port {port}: " in tried.stderr
    assert "hint: " in tried.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_can_reach_is_refused(tmp_path: Path, host: str) -> None:
    tried = refused("--host", host, "--port", "0", "--data", str(tmp_path), "--json")
    assert json.loads(tried.stdout)["code"] == "public_bind"


def test_a_store_that_is_none_is_refused(tmp_path: Path) -> None:
    tried = refused("--port", "0", "--data", str(tmp_path), HOLDFAST_STORE="mysql://x")
    assert "is not a store's URL" in tried.stderr


def test_it_says_what_runs_where(tmp_path: Path) -> None:
    with holdfast("serve", "--port", "0", "--data", str(tmp_path)) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(4)]
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert "url    http://127.0.0.1:" in said[0]
    assert f"sqlite:///{tmp_path}/holdfast.db (sqlite 3." in said[1]
    assert "simulator" in said[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--host", "nowhere.invalid"],
        ["--store", "postgresql://nobody@127.0.0.1:1/none"],
        ["--store", "mysql://x"],
        ["--token-file", "/dev/null"],
        ["--model-url", "nonsense"],
    ],
    ids=lambda arguments: arguments[0] + " " + arguments[1][:12],
)
def test_a_start_that_fails_leaves_no_folder_behind(tmp_path: Path, arguments: list[str]) -> None:
    refused("--port", "0", "--data", str(tmp_path / "new" / "data"), *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_start_that_fails_on_its_port_or_its_store_leaves_no_folder_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused("--data", str(tmp_path / "data"), "--port", str(taken.getsockname()[1]))
    assert list(tmp_path.iterdir()) == []
    with running(tmp_path / "first"):
        store = f"sqlite:///{tmp_path}/first/holdfast.db"
        refused("--port", "0", "--data", str(tmp_path / "second"), "--store", store)
        assert [each.name for each in tmp_path.iterdir()] == ["first"]


def test_a_start_that_fails_removes_nothing_that_was_there(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        httpx2.post(f"{gateway.url}/api/actions/s", json={"type": "note"}, **LOCAL)
        assert gateway.stop() == (0, "")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused("--port", "0", "--data", str(tmp_path), "--token-file", "/dev/null")
    assert {path for path in before if not path.exists()} == set()
    with running(tmp_path) as gateway:
        assert httpx2.get(f"{gateway.url}/api/sessions/s", **LOCAL).json()["metadata"]["headSeq"] == 1
