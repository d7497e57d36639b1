"""The honest control is a runtime in its own right: it takes files as others do, ends tasks, and borrows nothing."""

import asyncio
import base64
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from holdfast.prove.targets.broken import broken
from holdfast.prove.targets.process import ProcessTarget, free_port

HEADERS = {"A2A-Version": "1.0"}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessTarget]:
    """One process for all."""
    folder = tmp_path_factory.mktemp("honest")
    target = ProcessTarget(broken("none", folder / "data", free_port()), folder, start_seconds=20)
    asyncio.run(target.start())
    yield target
    target.abandon()


async def call(target: ProcessTarget, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The whole answer to a call of version 1.0."""
    body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer: dict[str, Any] = (await client.post(f"{target.url}/a2a", json=body, headers=HEADERS)).json()
    return answer


async def send(target: ProcessTarget, *parts: dict[str, Any], **message: Any) -> dict[str, Any]:
    """The answer to a message with these parts."""
    number = message.pop("messageId", None) or base64.b64encode(str(parts).encode()).decode()
    said = {"messageId": number, "contextId": "c", "role": "ROLE_USER", "parts": list(parts), **message}
    return await call(target, "SendMessage", {"message": said})


def text_of(answer: dict[str, Any]) -> str:
    """The words in an answer to a message."""
    text: str = answer["result"]["task"]["artifacts"][0]["parts"][0]["text"]
    return text


@pytest.mark.parametrize(
    "reference", ["workspace:/workspace/a b.txt", "workspace:/workspace/a%20b.txt", "/workspace/a b.txt", "a b.txt"]
)
async def test_a_file_of_the_workspace_can_be_referred_to(honest: ProcessTarget, reference: str) -> None:
    assert honest.workspace is not None
    (honest.workspace / "a b.txt").write_text("the code word is heron")
    assert "a b.txt" in text_of(await send(honest, {"url": reference, "filename": "a b.txt"}))


@pytest.mark.parametrize(
    "reference", ["/etc/passwd", "file:///etc/passwd", "workspace:/workspace/../log.jsonl", "nope"]
)
async def test_a_file_elsewhere_cannot(honest: ProcessTarget, reference: str) -> None:
    assert (await send(honest, {"url": reference, "filename": "x"}))["error"]["code"] == -32602


async def test_a_task_ends_once(honest: ProcessTarget) -> None:
    params = {"message": {"messageId": "m", "contextId": "c", "role": "ROLE_USER", "parts": [{"text": "Hello."}]}}
    task = (await call(honest, "SendMessage", params))["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (await call(honest, "CancelTask", {"id": task["id"]}))["error"]["code"] == -32002
    assert (await call(honest, "SubscribeToTask", {"id": task["id"]}))["error"]["code"] == -32004
    assert (await send(honest, {"text": "More."}, taskId=task["id"]))["error"]["code"] == -32004
    elsewhere = await send(honest, {"text": "More."}, taskId=task["id"], contextId="another")
    assert elsewhere["error"]["code"] == -32602
    assert (await call(honest, "GetTask", {"id": "unheard-of"}))["error"]["code"] == -32001


def test_it_shares_no_code_with_the_runtime_that_it_is_compared_with() -> None:
    seen = (
        "import sys, holdfast.prove.broken.__main__\n"
        "print(*sorted(name for name in sys.modules if name.startswith('holdfast.')))"
    )
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    layers = {name.split(".")[1] for name in done.stdout.split()}
    assert layers <= {"core", "prove"}
