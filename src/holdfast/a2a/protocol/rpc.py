"""The JSON-RPC 2.0 envelope, and every error that A2A can answer with.

An RpcError is an answer, not a defect: its code is JSON-RPC's or A2A's, and an A2A error carries its name as the
google.rpc.ErrorInfo that version 1.0 asks for (0.3 allows any data there).
"""

from dataclasses import dataclass
from typing import Any

from holdfast.core import HoldfastError, large_json, strict_json
from holdfast.core.errors import InvalidJson, TooLarge

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
TASK_NOT_FOUND = -32001
TASK_NOT_CANCELABLE = -32002
PUSH_NOT_SUPPORTED = -32003
UNSUPPORTED_OPERATION = -32004
CONTENT_TYPE_NOT_SUPPORTED = -32005
INVALID_AGENT_RESPONSE = -32006
EXTENDED_CARD_NOT_CONFIGURED = -32007
EXTENSION_REQUIRED = -32008
VERSION_NOT_SUPPORTED = -32009

REASONS = {
    TASK_NOT_FOUND: "TASK_NOT_FOUND",
    TASK_NOT_CANCELABLE: "TASK_NOT_CANCELABLE",
    PUSH_NOT_SUPPORTED: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    UNSUPPORTED_OPERATION: "UNSUPPORTED_OPERATION",
    CONTENT_TYPE_NOT_SUPPORTED: "CONTENT_TYPE_NOT_SUPPORTED",
    INVALID_AGENT_RESPONSE: "INVALID_AGENT_RESPONSE",
    EXTENDED_CARD_NOT_CONFIGURED: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    EXTENSION_REQUIRED: "EXTENSION_SUPPORT_REQUIRED",
    VERSION_NOT_SUPPORTED: "VERSION_NOT_SUPPORTED",
}
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
DOMAIN = "a2a-protocol.org"

CallId = str | int | float | None


class RpcError(Exception):
    """An error answer; `status` is the HTTP status that it travels with."""

    def __init__(self, code: int, message: str, *, status: int = 200, **facts: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.facts = facts

    def body(self) -> dict[str, Any]:
        """The `error` member of the envelope."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.code in REASONS:
            info: dict[str, Any] = {"@type": ERROR_INFO, "reason": REASONS[self.code], "domain": DOMAIN}
            body["data"] = [info | {"metadata": self.facts}] if self.facts else [info]
        return body


def invalid_params(why: str) -> RpcError:
    """The answer to params that a method does not take."""
    return RpcError(INVALID_PARAMS, f"Invalid params: {why}")


def task_not_found(task_id: str) -> RpcError:
    """The answer about a task that the caller has none of."""
    return RpcError(TASK_NOT_FOUND, "Task not found", taskId=task_id)


@dataclass(frozen=True, slots=True)
class Call:
    """One request; without an id nobody could tell what an answer is to."""

    id: CallId
    method: str
    params: dict[str, Any]
    has_id: bool = True


async def parse(raw: bytes, owner: str) -> Any:
    """The JSON value of a body, which may be any; RpcError if it is not JSON. Nobody waits for a large one."""
    try:
        if len(raw) <= large_json.LARGE:
            return strict_json.parse(raw)
        large_json.check_values(await large_json.LARGE_JSON.check(raw, owner))
        return await large_json.LARGE_JSON.make(lambda: strict_json.parse_own(raw), owner)
    except InvalidJson as error:
        raise RpcError(PARSE_ERROR, f"Invalid JSON: {error.message}") from None
    except TooLarge as error:
        raise RpcError(INVALID_REQUEST, f"Invalid request: {error.message}", status=error.status) from None


def id_of(value: Any) -> CallId:
    """The id that an answer to this value carries; None where there is none to be found."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) or type(found) in (int, float) else None


def method_of(value: Any) -> str | None:
    """The method that a value names, if it does."""
    found = value.get("method") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def call_in(value: Any) -> Call:
    """The request in a JSON value, or RpcError."""
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "Invalid request: not a JSON object (batches are not part of A2A)")
    if value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0"')
    if value.get("id") is not None and id_of(value) is None:
        raise RpcError(INVALID_REQUEST, 'Invalid request: "id" must be text, a number or null')
    method = value.get("method")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, 'Invalid request: "method" must be text')
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise invalid_params('"params" must be a JSON object')
    return Call(id_of(value), method, params, "id" in value)


def refusal(error: HoldfastError) -> RpcError:
    """One of our own errors as a client of A2A sees it."""
    if error.status < 500:
        return invalid_params(error.message)
    said = f"{error.message} ({error.hint})" if error.hint else error.message
    return RpcError(INTERNAL_ERROR, f"Internal error: {said}", status=error.status)


def answer(call_id: CallId, result: Any) -> dict[str, Any]:
    """The envelope of a result."""
    return {"jsonrpc": "2.0", "id": call_id, "result": result}


def failure(call_id: CallId, error: RpcError) -> dict[str, Any]:
    """The envelope of an error."""
    return {"jsonrpc": "2.0", "id": call_id, "error": error.body()}
