"""One store's growth curves, measured in a process of its own: `python -m bench.growth_one SUBJECT FOLDER SECONDS`.

For each size N: what one more append costs, what it takes to go on with the session, how many bytes an event takes;
and what a list of sessions costs among N. A curve ends where filling up to the next size takes longer than SECONDS.
Prints JSON.
"""

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import apsw

from bench.material import TYPE, payload

SIZES = (100, 1_000, 10_000, 100_000)
BATCH = 1_000
APPENDS = 15
LOADS = 5
PAGE = 50
SESSION = "the-long-one"
ADAPTERS = "examples/stores"

PEERS = {
    "langgraph": "langgraph_sqlite",
    "openai-agents": "openai_agents_sqlite",
    "adk-sqlite": "adk_sqlite",
    "adk-database": "adk_database",
}


class Subject(Protocol):
    """What is measured; every append is durable when it returns."""

    name: str

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def fill(self, count: int) -> None: ...
    async def append(self) -> None: ...
    async def resume(self) -> None: ...
    async def add_sessions(self, first: int, count: int) -> None: ...
    async def list_page(self) -> bool: ...


class HoldfastSubject:
    """Holdfast on SQLite."""

    def __init__(self, folder: Path) -> None:
        from importlib.metadata import version

        self.name = f"holdfast {version('holdfast')}"
        self._url = f"sqlite:///{folder}/store.db"
        self._body = payload()

    async def open(self) -> None:
        from holdfast.store import open_store

        self._store = await open_store(self._url)

    async def close(self) -> None:
        await self._store.close()

    async def fill(self, count: int) -> None:
        from holdfast.store import NewEvent

        for start in range(0, count, BATCH):
            some = min(BATCH, count - start)
            await self._store.append(SESSION, [NewEvent(TYPE, self._body) for _ in range(some)])

    async def append(self) -> None:
        from holdfast.store import NewEvent

        await self._store.append(SESSION, [NewEvent(TYPE, self._body)])

    async def resume(self) -> None:
        await self._store.resume(SESSION)

    async def add_sessions(self, first: int, count: int) -> None:
        from holdfast.store import NewEvent

        async def writer(start: int) -> None:
            for number in range(first + start, first + count, 64):
                await self._store.append(f"session-{number:07d}", [NewEvent(TYPE, self._body)])

        await asyncio.gather(*(writer(start) for start in range(64)))

    async def list_page(self) -> bool:
        await self._store.sessions.list(limit=PAGE)
        return True


class RawSubject:
    """One table through apsw, synced at every commit: the least that a store can do."""

    def __init__(self, folder: Path) -> None:
        self.name = f"one table, apsw {apsw.apsw_version()}"
        self._path = f"{folder}/raw.db"
        self._body = payload()

    async def open(self) -> None:
        self._db = apsw.Connection(self._path)
        self._db.pragma("journal_mode", "wal")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS e (n INTEGER PRIMARY KEY, s TEXT NOT NULL, p BLOB NOT NULL)")
        self._db.execute("CREATE INDEX IF NOT EXISTS by_session ON e (s, n)")

    async def close(self) -> None:
        self._db.close()

    async def fill(self, count: int) -> None:
        with self._db:
            self._db.executemany("INSERT INTO e (s, p) VALUES (?, ?)", [(SESSION, self._body)] * count)

    async def append(self) -> None:
        self._db.execute("INSERT INTO e (s, p) VALUES (?, ?)", (SESSION, self._body))

    async def resume(self) -> None:
        self._db.execute("SELECT p FROM e WHERE s = ? ORDER BY n DESC LIMIT 200", (SESSION,)).fetchall()

    async def add_sessions(self, first: int, count: int) -> None:
        with self._db:
            rows = [(f"session-{number:07d}", self._body) for number in range(first, first + count)]
            self._db.executemany("INSERT INTO e (s, p) VALUES (?, ?)", rows)

    async def list_page(self) -> bool:
        return False


class Peer:
    """A store of others, through its adapter in examples/stores."""

    def __init__(self, module: str, folder: Path) -> None:
        if ADAPTERS not in sys.path:
            sys.path.insert(0, ADAPTERS)
        self._adapter: Any = importlib.import_module(module).factory(folder)
        self.name = self._adapter.subject
        self._body = json.loads(payload())

    async def open(self) -> None:
        await self._adapter.open()

    async def close(self) -> None:
        await self._adapter.close()

    async def fill(self, count: int) -> None:
        if "batch" in self._adapter.offers:
            await self._adapter.append_all(SESSION, [self._body] * count)
        else:
            for _ in range(count):
                await self._adapter.append(SESSION, self._body)

    async def append(self) -> None:
        await self._adapter.append(SESSION, self._body)

    async def resume(self) -> None:
        await self._adapter.read(SESSION)

    async def add_sessions(self, first: int, count: int) -> None:
        for number in range(first, first + count):
            await self._adapter.append(f"session-{number:07d}", self._body)

    async def list_page(self) -> bool:
        if "listing" not in self._adapter.offers:
            return False
        await self._adapter.sessions()
        return True


def subject_of(name: str, folder: Path) -> Subject:
    """The subject with this name, over files in a folder."""
    if name == "holdfast":
        return HoldfastSubject(folder)
    return RawSubject(folder) if name == "raw" else Peer(PEERS[name], folder)


async def timed(do: Callable[[], Awaitable[Any]], times: int) -> float:
    """The median of some runs, in milliseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        await do()
        found.append((time.perf_counter() - start) * 1000)
    return median(found)


async def long_session(name: str, folder: Path, seconds: float) -> list[dict[str, float]]:
    """The costs of one session as it grows."""
    folder.mkdir(parents=True)
    points: list[dict[str, float]] = []
    there = 0
    for size in SIZES:
        subject = subject_of(name, folder)
        await subject.open()
        start = time.perf_counter()
        try:
            await asyncio.wait_for(subject.fill(size - there), seconds)
        except TimeoutError:
            await subject.close()
            break
        spent = time.perf_counter() - start
        append = await timed(subject.append, APPENDS)
        resume = await timed(subject.resume, LOADS)
        there = size + APPENDS
        await subject.close()
        files = [file for file in folder.iterdir() if not file.name.endswith(".reserve")]
        stored = sum(file.stat().st_size for file in files) / there
        points.append({"events": size, "append": append, "resume": resume, "bytes": stored})
        if spent * 10 > seconds:  # the next size would not be reached
            break
    return points


async def many_sessions(name: str, folder: Path, seconds: float) -> list[dict[str, float]]:
    """The cost of a list among more and more sessions."""
    folder.mkdir(parents=True)
    subject = subject_of(name, folder)
    points: list[dict[str, float]] = []
    there = 0
    await subject.open()
    for size in SIZES:
        start = time.perf_counter()
        try:
            await asyncio.wait_for(subject.add_sessions(there, size - there), seconds)
        except TimeoutError:
            break
        there = size
        if not await subject.list_page():
            break
        points.append({"sessions": size, "list": await timed(subject.list_page, LOADS)})
        if time.perf_counter() - start > seconds:
            break
    await subject.close()
    return points


async def main(name: str, folder: Path, seconds: float) -> None:
    """Measure both curves and print them."""
    found = {
        "name": subject_of(name, folder).name,
        "long": await long_session(name, folder / "long", seconds),
        "many": await many_sessions(name, folder / "many", seconds),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
