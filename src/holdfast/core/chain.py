"""The hash rule: how each event seals the log before it.

    hash = SHA-256(prev ‖ header ‖ SHA-256(payload))

`prev` is the hash of the event before, 32 zero bytes for the first. `header` is the compact UTF-8 JSON array
`[seq, event_id, type, parent_id, created_at]`. `payload` is the bytes as stored. The session's id is not part of
it, so a fork keeps its ancestor's hashes; the payload enters by its own hash, so that erasing the bytes leaves the
chain whole.
"""

import hashlib

import msgspec

GENESIS = bytes(32)

_encode = msgspec.json.Encoder().encode


def seal(
    prev: bytes, seq: int, event_id: str, type: str, parent_id: str | None, created_at: int, payload: bytes
) -> bytes:
    """The hash of an event that follows the one with hash `prev`."""
    return seal_digest(prev, seq, event_id, type, parent_id, created_at, hashlib.sha256(payload).digest())


def seal_digest(
    prev: bytes, seq: int, event_id: str, type: str, parent_id: str | None, created_at: int, digest: bytes
) -> bytes:
    """The same for an event of whose payload only the SHA-256 is known: one that was erased."""
    header = _encode((seq, event_id, type, parent_id, created_at))
    return hashlib.sha256(prev + header + digest).digest()
