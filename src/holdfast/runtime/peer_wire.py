"""Asking an agent over A2A 1.0: one message is sent, and its task followed until it rests."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.core import HoldfastError, strict_json
from holdfast.core.loopback import is_here

TIMEOUT_SECONDS = 120.0
PAUSE_SECONDS = 0.5
MAX_ANSWER = 1024 * 1024
HOPS = "holdfast/hops"
"""The member of a message's metadata that counts the agents that asked each other before it."""

RUNNING = frozenset({"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"})
COMPLETED = "TASK_STATE_COMPLETED"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"


class PeerFailed(HoldfastError):
    """The other agent gave no answer."""

    code: ClassVar[str] = "peer_failed"
    status: ClassVar[int] = 502


@dataclass(frozen=True, slots=True)
class Question:
    """What a peer is asked: by which message, in which context, and after how many agents that asked each other."""

    text: str
    message_id: str
    context_id: str
    hops: int = 0


class _Part(msgspec.Struct):
    text: str | None = None
    data: Any | UnsetType = UNSET


class _Said(msgspec.Struct):
    parts: list[_Part]


class _Status(msgspec.Struct):
    state: str
    message: _Said | None = None


class _Task(msgspec.Struct):
    status: _Status
    id: str = ""
    artifacts: list[_Said] | None = None


class _Sent(msgspec.Struct):
    task: _Task | None = None
    message: _Said | None = None


class _Refusal(msgspec.Struct):
    message: str = ""


class _Envelope(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"")
    error: _Refusal | None = None


Result = TypeVar("Result", _Sent, _Task)


async def ask(url: str, question: Question) -> str:
    """The answer in words; PeerFailed if there is none."""
    message = {
        "messageId": question.message_id,
        "contextId": question.context_id,
        "role": "ROLE_USER",
        "parts": [{"text": question.text}],
        "metadata": {HOPS: question.hops + 1},
    }
    earlier: list[_Said | None] = []
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            sent = await _call(url, "SendMessage", {"message": message}, _Sent)
            task = sent.task
            while task is not None and task.status.state in RUNNING:
                earlier.append(task.status.message)
                await asyncio.sleep(PAUSE_SECONDS)
                task = await _call(url, "GetTask", {"id": task.id}, _Task)
    except TimeoutError:
        raise PeerFailed(f"the agent at {url} has not answered in {TIMEOUT_SECONDS:.0f} seconds") from None
    if task is None:
        return _words([sent.message]) or "the agent answered without words"
    # What it said while it was at work is no part of the answer, also if it leaves that standing.
    said = None if task.status.message in earlier else task.status.message
    words = _words([*(task.artifacts or []), said])
    if task.status.state == COMPLETED:
        return words or "the agent answered without words"
    if task.status.state == INPUT_REQUIRED:
        return f"the agent asks back: {words}"
    raise PeerFailed(f"the agent at {url} gave no answer ({task.status.state}): {words}")


async def _call(url: str, method: str, params: dict[str, Any], kind: type[Result]) -> Result:
    import httpx2

    request = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    raw = b""
    try:
        async with (
            # Certificates, which take long to load, are for those who encrypt.
            httpx2.AsyncClient(
                timeout=TIMEOUT_SECONDS, trust_env=not is_here(url), verify=url.lower().startswith("https:")
            ) as client,
            client.stream("POST", url, content=strict_json.dump(request), headers=headers) as response,
        ):
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > MAX_ANSWER:
                    raise PeerFailed(f"the agent at {url} answered with more than {MAX_ANSWER} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise PeerFailed(f"no answer from {url}: {str(error) or type(error).__name__}") from error
    try:
        answer = msgspec.json.decode(raw, type=_Envelope)
        if answer.error is not None:
            raise PeerFailed(f"the agent at {url} refused: {answer.error.message:.500}")
        return msgspec.json.decode(answer.result, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PeerFailed(f"the agent at {url} answered {response.status_code}, and not as A2A does: {error}") from error


def _words(said: Sequence[_Said | None]) -> str:
    return "\n".join(text for each in said if each is not None for text in _texts(each))


def _texts(said: _Said) -> Iterator[str]:
    for part in said.parts:
        if part.text is not None:
            yield part.text
        elif part.data is not UNSET:
            yield strict_json.dump(part.data).decode()
