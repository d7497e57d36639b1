"""Whether a store takes writes: a durable one, of a row that is written over, so that asking makes nothing grow."""

from holdfast.store.engine import Tx
from holdfast.store.part import Workers

NAME = "writable"
PUT = """
    INSERT INTO holders (holder, expires_at) VALUES (?1, ?2)
    ON CONFLICT (holder) DO UPDATE SET expires_at = excluded.expires_at"""


async def prove_writable(workers: Workers) -> None:
    """Return once a write is on the disk; a HoldfastError says why it is not."""

    def write(tx: Tx) -> None:
        tx.run(PUT, NAME, tx.now())

    await workers.write(write, (f"holder\0{NAME}",))
