"""Files and news of the gateway's agent: by scope, by tenant and within the limits, over real sockets."""

import asyncio
import base64
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.holders import Wanted, client, make_tokens
from tests.gateway.process import PATIENCE, Running, running
from tests.support.scripted_server import ScriptedServer, webhook

MIB = 1024 * 1024
HOLDERS = {"writer": Wanted(["write"]), "reader": Wanted(["read"]), "other": Wanted(["write"], "other")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def tokens(data: Path) -> dict[str, str]:
    return make_tokens(f"sqlite:///{data}/holdfast.db", HOLDERS)


@pytest.fixture(scope="module")
def gateway(data: Path, tokens: dict[str, str]) -> Iterator[Running]:
    with running(data, "--allow-push", "127.0.0.1") as made:
        yield made


@pytest.fixture
def writer(gateway: Running, tokens: dict[str, str]) -> Iterator[httpx2.Client]:
    with client(gateway.url, tokens["writer"]) as made:
        yield made


def call(client: httpx2.Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer: dict[str, Any] = client.post("/a2a", json=body, headers={"A2A-Version": "1.0"}).json()
    return answer


def send(client: httpx2.Client, message_id: str, *parts: dict[str, Any], **configuration: Any) -> dict[str, Any]:
    message = {"messageId": message_id, "role": "ROLE_USER", "contextId": message_id, "parts": parts}
    return call(client, "SendMessage", {"message": message, "configuration": configuration})


def uploaded(data: Path) -> list[Path]:
    return [path for path in data.glob("workspace*/*uploads/*/*") if path.is_file()]


def test_a_file_is_uploaded_sent_and_kept_apart_from_other_tenants(
    gateway: Running, writer: httpx2.Client, tokens: dict[str, str], data: Path
) -> None:
    (file,) = writer.post("/a2a/uploads", files={"files": ("notes.txt", b"a table for two")}).json()["files"]
    assert (file["name"], file["mimeType"], file["size"]) == ("notes.txt", "text/plain", 15)
    (path,) = uploaded(data)
    assert (path.read_bytes(), path.parents[2]) == (b"a table for two", data / "workspace")
    sent = send(writer, "file-1", {"url": file["uri"], "filename": "notes.txt"})
    assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    with client(gateway.url, tokens["other"]) as other:
        assert send(other, "file-1", {"url": file["uri"]})["error"]["code"] == -32602
    with client(gateway.url, tokens["reader"]) as reader:
        assert reader.post("/a2a/uploads", files={"files": ("x", b"x")}).json()["needs"] == "write"
    assert uploaded(data) == [path]


def test_uploads_have_their_limit(writer: httpx2.Client, data: Path) -> None:
    before = uploaded(data)
    for sizes in ([25 * MIB + 1], [20 * MIB] * 3):
        files = [("files", (f"f{n}", b"x" * size)) for n, size in enumerate(sizes)]
        answer = writer.post("/a2a/uploads", files=files)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert uploaded(data) == before


def test_a_gateway_that_is_killed_in_an_upload_leaves_nothing_to_refer_to(tmp_path: Path) -> None:
    head = (
        "POST /a2a/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
        '--b\r\nContent-Disposition: form-data; name="files"; filename="half"\r\n\r\n'
    )
    with running(tmp_path) as made, socket.create_connection(("127.0.0.1", int(made.url.rsplit(":", 1)[1]))) as sender:
        sender.sendall(head.encode() + b"x" * 3_000_000)
        deadline = time.monotonic() + PATIENCE
        while not (half := uploaded(tmp_path)) or not half[0].stat().st_size:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        made.process.kill()
        made.process.wait()
    assert [path.parents[1].name for path in uploaded(tmp_path)] == [".uploads"]
    assert not list(tmp_path.glob("workspace/uploads/*"))


def test_a_message_may_be_as_large_as_its_files(writer: httpx2.Client) -> None:
    most = base64.b64encode(bytes(25 * MIB)).decode()
    sent = send(writer, "large-1", {"raw": most, "filename": "most.bin"}, historyLength=0)
    assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    more = base64.b64encode(bytes(25 * MIB + 1)).decode()
    assert "25 MiB" in send(writer, "large-2", {"raw": more})["error"]["message"]
    answer = writer.post("/a2a", content=b" " * (68 * MIB + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_news_are_posted_to_hosts_that_the_operator_named(writer: httpx2.Client) -> None:
    with webhook() as hook:
        sent = await asyncio.to_thread(_send_with_push, writer, hook)
        assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        await hook.wait_for(lambda: "TASK_STATE_COMPLETED" in str(hook.requests))
        assert hook.requests[-1].headers["x-a2a-notification-token"] == "t"
    refused = await asyncio.to_thread(
        lambda: send(writer, "push-2", {"text": "hi"}, taskPushNotificationConfig={"url": "http://localhost:1/"})
    )
    assert refused["error"]["code"] == -32602
    assert "not public" in refused["error"]["message"]


def _send_with_push(writer: httpx2.Client, hook: ScriptedServer) -> dict[str, Any]:
    config = {"url": f"http://127.0.0.1:{hook.port}/hook", "token": "t"}
    return send(writer, "push-1", {"text": "hi"}, taskPushNotificationConfig=config)
