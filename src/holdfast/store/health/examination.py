"""A store under examination: open for reading alone, with what the checks need to know of its surroundings."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from holdfast.core.store_file import sqlite_path
from holdfast.store.engine import Tx
from holdfast.store.sqlite.process import Process, is_alive, this_process
from holdfast.store.store import Store

OWNER = "SELECT pid, started, boot, namespace, url, inode FROM owner"
SERVERS = "SELECT url, pid FROM servers WHERE expires_at >= ?1 ORDER BY started_at"

Result = TypeVar("Result")


class StoreServer(NamedTuple):
    """Who is at work on a store; without a URL it is another command."""

    pid: int
    url: str | None


@dataclass(frozen=True, slots=True)
class Examination:
    """An open store, who serves it, and the options by which commands find it: for what mends a finding."""

    store: Store
    options: str
    server: StoreServer | None

    @property
    def path(self) -> Path | None:
        """The store's file; None if a database server has it."""
        return sqlite_path(self.store.engine.url)

    def read(self, look: Callable[[Tx], Result]) -> Awaitable[Result]:
        """What a look over one snapshot of the store finds."""
        return self.store.verification.workers.read(look)

    def command(self, words: str) -> str:
        """A command of ours about this store."""
        return f"holdfast {words} {self.options}".rstrip()


async def server_of(store: Store) -> StoreServer | None:
    """Who serves a store, as far as the store itself tells; one whose death cannot be seen counts as alive."""
    path = sqlite_path(store.engine.url)
    if path is None:
        found = await store.verification.workers.read(lambda tx: tx.one(SERVERS, tx.now()))
        return None if found is None else StoreServer(found[1], found[0])
    row = await store.verification.workers.read(lambda tx: tx.one(OWNER))
    if row is None or row[0] is None or row[5] != _inode(path):
        return None
    pid, started, boot, namespace, url, _ = row
    dead = is_alive(Process(pid, started or 0, boot or "", namespace or ""), this_process()) is False
    return None if dead else StoreServer(pid, url)


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return None
