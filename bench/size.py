"""What a store takes on disk for each byte of payload it was given."""

import asyncio
import tempfile
from pathlib import Path
from uuid import uuid4

import uvloop

from bench.line import Effort, Line
from bench.material import PAYLOAD_BYTES, TYPE, WRITERS, payload, session_id
from holdfast.store import NewEvent, open_store

EVENTS = 20_480
AT_MOST = 2.2


def measure(effort: Effort) -> list[Line]:
    """Small events, written one at a time by many writers, take little more than twice their bytes."""
    body = payload()
    plain = stored_per_byte(effort.folder, body, keyed=False)
    keyed = stored_per_byte(effort.folder, body, keyed=True)
    large = stored_per_byte(effort.folder, payload(2048), keyed=False)
    return [
        Line(
            "size",
            f"bytes stored per byte of {PAYLOAD_BYTES}-byte payloads",
            "B",
            plain,
            at_most=AT_MOST,
            beside={"with 36-character keys": keyed, "2 KB payloads": large},
        )
    ]


def stored_per_byte(folder: Path, body: bytes, *, keyed: bool) -> float:
    """The size of the store's files after a checkpoint, over the bytes of the payloads in it."""

    async def fill(url: str) -> None:
        async with await open_store(url) as store:

            async def writer(number: int) -> None:
                for _ in range(EVENTS // WRITERS):
                    key = str(uuid4()) if keyed else None
                    await store.append(session_id(number), [NewEvent(TYPE, body, idempotency_key=key)])

            await asyncio.gather(*(writer(number) for number in range(WRITERS)))

    with tempfile.TemporaryDirectory(dir=folder) as place:
        uvloop.run(fill(f"sqlite:///{place}/store.db"))  # closing it moves the log into the file
        files = [file for file in Path(place).iterdir() if not file.name.endswith(".reserve")]
        return sum(file.stat().st_size for file in files) / (EVENTS * len(body))
