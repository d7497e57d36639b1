"""One message of JSON-RPC, looked at before the SDK sees it: the SDK reads JSON less strictly than we do.

It would take the last of two members with one name, and a request whose id is no id for a notification, which nobody
answers.
"""

from typing import Any

from holdfast.core import HoldfastError, strict_json
from holdfast.core.errors import InvalidJson
from holdfast.gateway.mcp.service import MOST_VALUES, count_of

LARGEST_CALL = 1024 * 1024
"""The bytes of a message: the SDK reads it in one piece, and nobody is to wait for that."""
PARSE_ERROR = -32700
INVALID_REQUEST = -32600


class NoMessage(HoldfastError):
    """It is JSON, but no message."""

    code = "no_message"
    status = 400


def message_in(raw: bytes) -> Any:
    """The JSON value of a message's bytes; InvalidJson or NoMessage if they are none."""
    if len(raw) > LARGEST_CALL:
        raise InvalidJson(f"more than {LARGEST_CALL} bytes", reason="size")
    if count_of(raw) > MOST_VALUES:
        raise NoMessage(f"a message has {MOST_VALUES} arrays and objects at most; REST takes more")
    found = strict_json.parse(raw)
    if not isinstance(found, dict):
        raise NoMessage("a message is one object: send several one by one")
    if "id" in found and (isinstance(found["id"], bool) or not isinstance(found["id"], str | int)):
        raise NoMessage("the id of a message is text or an integer")
    return found


def error_answer(error: HoldfastError) -> bytes:
    """JSON-RPC's answer to what is no message, which has no id that it could be the answer to."""
    code = PARSE_ERROR if isinstance(error, InvalidJson) else INVALID_REQUEST
    kind = "Parse error" if code == PARSE_ERROR else "Invalid request"
    said = {"code": code, "message": f"{kind}: {error.message}"}
    return strict_json.dump({"jsonrpc": "2.0", "id": None, "error": said})
