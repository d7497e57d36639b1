"""The exact bytes of the A2A requests that a platform sends, in wire version 0.3 and 1.0.

The bytes are pinned by a test: if they drift, what is proven is no longer what production does.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from holdfast.core import strict_json


class WireVersion(StrEnum):
    """The A2A protocol version of a request."""

    V0_3 = "0.3"
    V1_0 = "1.0"

    @property
    def headers(self) -> dict[str, str]:
        """The request headers; 0.3 is what a request without a version means."""
        return self._headers("application/json")

    @property
    def stream_headers(self) -> dict[str, str]:
        """The headers of a request that is answered with a stream."""
        return self._headers("text/event-stream")

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": accept}
        if self is WireVersion.V1_0:
            headers["A2A-Version"] = "1.0"
        return headers


@dataclass(frozen=True, slots=True)
class FileSent:
    """A file that goes with a message: its bytes, or the URI where the target finds it."""

    name: str
    media_type: str
    data: bytes | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A user's message. One without text has no text part; one with a task id continues that task."""

    message_id: str
    context_id: str | None
    text: str
    files: Sequence[FileSent] = ()
    task_id: str | None = None


def send(version: WireVersion, message: OutgoingMessage, *, wait: bool) -> bytes:
    """A turn, answered when it is done or at once; the JSON-RPC id is the message id."""
    if version is WireVersion.V0_3:
        return _send("message/send", _message_0_3(message), {"blocking": wait})
    return _send("SendMessage", _message_1_0(message), {"returnImmediately": not wait})


def stream(version: WireVersion, message: OutgoingMessage) -> bytes:
    """A turn, answered with a stream of its news."""
    if version is WireVersion.V0_3:
        return _send("message/stream", _message_0_3(message), {})
    return _send("SendStreamingMessage", _message_1_0(message), {})


def get_task(version: WireVersion, *, request_id: str, task_id: str) -> bytes:
    """A question for the state of a task."""
    return _about_task(version, request_id, task_id, "tasks/get", "GetTask")


def cancel_task(version: WireVersion, *, request_id: str, task_id: str) -> bytes:
    """The wish that a task be canceled."""
    return _about_task(version, request_id, task_id, "tasks/cancel", "CancelTask")


def subscribe(version: WireVersion, *, request_id: str, task_id: str) -> bytes:
    """The wish for a stream of the news of a task that is under way."""
    return _about_task(version, request_id, task_id, "tasks/resubscribe", "SubscribeToTask")


def upload(boundary: str, file: FileSent) -> bytes:
    """One file as a multipart form, field `files`."""
    assert file.data is not None
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{file.name}"\r\n'
        f"Content-Type: {file.media_type}\r\n\r\n"
    )
    return head.encode() + file.data + f"\r\n--{boundary}--\r\n".encode()


def _message_0_3(message: OutgoingMessage) -> dict[str, Any]:
    """The task is an explicit null on a new turn; the context is left out where only a task is named."""
    text = [{"kind": "text", "text": message.text}] if message.text else []
    return {
        "kind": "message",
        "role": "user",
        "messageId": message.message_id,
        **({} if message.context_id is None else {"contextId": message.context_id}),
        "taskId": message.task_id,
        "parts": [*text, *({"kind": "file", "file": _file_0_3(file)} for file in message.files)],
    }


def _file_0_3(file: FileSent) -> dict[str, Any]:
    content = {"uri": file.uri} if file.data is None else {"bytes": base64.b64encode(file.data).decode()}
    return {"name": file.name, "mimeType": file.media_type, **content}


def _message_1_0(message: OutgoingMessage) -> dict[str, Any]:
    text = [{"text": message.text}] if message.text else []
    return {
        "messageId": message.message_id,
        **({} if message.context_id is None else {"contextId": message.context_id}),
        **({} if message.task_id is None else {"taskId": message.task_id}),
        "role": "ROLE_USER",
        "parts": [*text, *(_file_1_0(file) for file in message.files)],
    }


def _file_1_0(file: FileSent) -> dict[str, Any]:
    content = {"url": file.uri} if file.data is None else {"raw": base64.b64encode(file.data).decode()}
    return {**content, "filename": file.name, "mediaType": file.media_type}


def _send(method: str, message: dict[str, Any], when: dict[str, bool]) -> bytes:
    configuration = {"acceptedOutputModes": ["text/plain"], **when}
    return _request(message["messageId"], method, {"message": message, "configuration": configuration})


def _about_task(version: WireVersion, request_id: str, task_id: str, old: str, new: str) -> bytes:
    return _request(request_id, old if version is WireVersion.V0_3 else new, {"id": task_id})


def _request(request_id: str, method: str, params: dict[str, Any]) -> bytes:
    return strict_json.dump({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
