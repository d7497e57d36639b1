"""The head of a request, looked at before anything is done for it.

Refused: too long a head, and every head that two programs might understand differently, because what one takes for a
body the other may take for the next request. A parser lets some of them pass.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from holdfast.core import HoldfastError
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.errors import BadRequest, HeadTooLarge

VERSIONS = frozenset({"1.0", "1.1"})
LINE_BYTES = len(": \r\n")

Headers = Sequence[tuple[bytes, bytes]]


def head_fault(
    limits: ConnectionLimits, method: bytes, target: bytes, version: str, headers: Headers
) -> HoldfastError | None:
    """What is wrong with a head, its header names in small letters; None if nothing is."""
    if len(headers) > limits.max_headers:
        return HeadTooLarge(f"more than {limits.max_headers} headers", limit=limits.max_headers)
    size = len(target) + sum([len(name) + len(value) + LINE_BYTES for name, value in headers])
    if size > limits.max_header_bytes:
        return too_long(limits)
    if version not in VERSIONS:
        return BadRequest(f"HTTP/{version} is not spoken here")
    names = [name for name, _ in headers]
    if b"transfer-encoding" in names and (fault := _encoding_fault(version, headers)):
        return BadRequest(fault)
    if names.count(b"content-length") > 1:
        return BadRequest("more than one Content-Length")
    if not target.startswith(b"/") and not _is_asked(method, target, headers):
        return BadRequest(f"the target {target.decode('latin-1')!r:.200} is not a path, nor of the host named in Host")
    return None if target.isascii() else BadRequest("the target has characters that must be percent-encoded")


def too_long(limits: ConnectionLimits) -> HeadTooLarge:
    """The refusal of a head that is too long."""
    return HeadTooLarge(f"a head of more than {limits.max_header_bytes} bytes", limit=limits.max_header_bytes)


def _encoding_fault(version: str, headers: Headers) -> str | None:
    if any(name == b"content-length" for name, _ in headers):
        return "Content-Length beside Transfer-Encoding"
    if version == "1.0":
        return "Transfer-Encoding in HTTP/1.0"
    encodings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    return None if encodings == [b"chunked"] else "a Transfer-Encoding other than chunked"


def _is_asked(method: bytes, target: bytes, headers: Headers) -> bool:
    """Whether a target that is no path can be served: `*` for the whole gateway, or a URL of the Host's own."""
    if target == b"*":
        return method == b"OPTIONS"
    try:
        url = urlsplit(target.decode("ascii"))
        hosts = [value.decode("ascii").lower() for name, value in headers if name == b"host"]
    except ValueError:
        return False
    return url.scheme in {"http", "https"} and [url.netloc.lower()] == hosts
