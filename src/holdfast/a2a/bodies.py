"""The body of a call: said to be JSON, and not larger than the largest message.

The standard asks for `application/json`. It is also what keeps pages in browsers out: without asking first, a page can
send text and forms to any address, and never what says that it is JSON.
"""

from starlette.requests import Request

from holdfast.a2a.protocol import rpc
from holdfast.a2a.protocol.rpc import RpcError

JSON_TYPES = frozenset({"application/json", "application/a2a+json"})
MAX_BODY = 68 * 1024 * 1024
"""Room for 50 MiB of files as they are written in JSON."""


def check_json(request: Request) -> None:
    """RpcError unless the request says that its body is JSON."""
    said = request.headers.getlist("content-type")
    kinds = {each.partition(";")[0].strip().lower() for each in said}
    if not kinds or not kinds <= JSON_TYPES:
        shown = f"{', '.join(said)!r:.80}" if said else "nothing"
        why = f"Incompatible content types: the Content-Type of a call is application/json, and this one says {shown}"
        raise RpcError(rpc.CONTENT_TYPE_NOT_SUPPORTED, why, status=415)


async def body_of(request: Request) -> bytes:
    """The whole body, or RpcError as soon as it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise RpcError(rpc.INVALID_REQUEST, f"Invalid request: more than {MAX_BODY} bytes", status=413)
    return bytes(body)
