"""What is written: payloads and session ids of ordinary length."""

import json

PAYLOAD_BYTES = 240
WRITERS = 64
TYPE = "message"


def payload(size: int = PAYLOAD_BYTES) -> bytes:
    """A JSON document of exactly `size` bytes."""
    frame = {"role": "user", "channel": "telegram", "text": ""}
    text = "The quick brown fox jumps over the lazy dog. " * (size // 45 + 1)
    room = size - len(json.dumps(frame, separators=(",", ":")))
    return json.dumps({**frame, "text": text[:room]}, separators=(",", ":")).encode()


def session_id(number: int) -> str:
    """A session id as channels make them, 51 characters."""
    return f"agent:main:telegram:direct:user-4815162342:t{number:07d}"
