"""What the tests of attachments and of their sweep share."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.store import Store
from holdfast.store.attachments.attachments import Attachments
from holdfast.store.attachments.byte_buffer import PART
from holdfast.store.attachments.sweep import sweep_step
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers

FIVE_MB = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(5 * PART // 32)) + b"end"
NAMED: dict[str, Any] = {"name": "notes.txt", "media_type": "text/plain"}


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def whole(store: Store, digest: str) -> bytes:
    return b"".join([part async for part in store.attachments.read(digest)])


async def stream(data: bytes, size: int = 70_001) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def change(store: Store, sql: str, *args: Any) -> None:
    """Change the database behind the part's back."""
    await store.attachments.workers.write(lambda tx: tx.run(sql, *args), ("x",))


async def counted(store: Store, table: str) -> int:
    row = await store.attachments.workers.read(lambda tx: tx.one(f"SELECT count(*) FROM {table}"))
    assert row is not None
    return int(row[0])


async def chore(store: Store) -> int:
    """Run the chore to its end, as a lane would; how many steps changed something."""
    steps = 0

    def step(tx: Tx) -> tuple[bool, bool]:
        tx.changed = False
        return sweep_step(tx, store.attachments.tuning), tx.changed

    while True:
        more, changed = await store.attachments.workers.write(step, ())
        steps += changed
        if not (more and changed):
            return steps


@dataclass(slots=True)
class Meanwhile:
    """Does something else before each write, once per entry."""

    inner: Workers
    first: list[Callable[[], Awaitable[Any]]]

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        if self.first:
            await self.first.pop(0)()
        return await self.inner.write(run, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        return await self.inner.read(run, length)


def with_meanwhile(store: Store, *first: Callable[[], Awaitable[Any]]) -> Attachments:
    return replace(store.attachments, workers=Meanwhile(store.attachments.workers, list(first)))


async def nothing() -> None:
    pass
