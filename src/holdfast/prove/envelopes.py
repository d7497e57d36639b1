"""The exact bytes of the A2A requests that a platform sends, in wire version 0.3 and 1.0.

The bytes are pinned by a test: if they drift, what is proven is no longer what production does.
"""

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
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self is WireVersion.V1_0:
            headers["A2A-Version"] = "1.0"
        return headers


def send_text(version: WireVersion, *, message_id: str, context_id: str, text: str, wait: bool) -> bytes:
    """A new turn with one text part; the JSON-RPC id is the message id, and no task is continued."""
    if version is WireVersion.V0_3:
        message: dict[str, Any] = {
            "kind": "message",
            "role": "user",
            "messageId": message_id,
            "contextId": context_id,
            "taskId": None,
            "parts": [{"kind": "text", "text": text}],
        }
        configuration: dict[str, Any] = {"acceptedOutputModes": ["text/plain"], "blocking": wait}
        method = "message/send"
    else:
        message = {
            "messageId": message_id,
            "contextId": context_id,
            "role": "ROLE_USER",
            "parts": [{"text": text}],
        }
        configuration = {"acceptedOutputModes": ["text/plain"], "returnImmediately": not wait}
        method = "SendMessage"
    return _request(message_id, method, {"message": message, "configuration": configuration})


def get_task(version: WireVersion, *, request_id: str, task_id: str) -> bytes:
    """A question for the state of a task."""
    return _request(request_id, "tasks/get" if version is WireVersion.V0_3 else "GetTask", {"id": task_id})


def _request(request_id: str, method: str, params: dict[str, Any]) -> bytes:
    return strict_json.dump({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
