"""Whether a store answers and takes writes. Both are tried for real; asking makes nothing grow."""

from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers

NAME = "writable"
LOOK = "SELECT count(*) FROM schema_meta"
PUT = """
    INSERT INTO holders (holder, expires_at) VALUES (?1, ?2)
    ON CONFLICT (holder) DO UPDATE SET expires_at = excluded.expires_at"""


async def check_readable(workers: Workers) -> None:
    """Return once a row was read; a HoldfastError says why it was not."""
    await workers.read(lambda tx: tx.one(LOOK), ReadLength.LOOK)


async def check_writable(workers: Workers) -> None:
    """Return once a write is on the disk: of a row that is written over; a HoldfastError says why it is not."""

    def write(tx: Tx) -> None:
        tx.run(PUT, NAME, tx.now())

    await workers.write(write, (f"holder\0{NAME}",))
