"""A little session store that keeps the whole contract, and others like it with one defect each."""

import asyncio
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import random
from typing import Any

from holdfast.prove.store.adapter import OFFERS, Payload, Refused, StoreAdapter

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    tenant TEXT, session TEXT, seq INTEGER, key TEXT, body TEXT, PRIMARY KEY (tenant, session, seq));
CREATE UNIQUE INDEX IF NOT EXISTS keys ON events (tenant, session, key);
CREATE TABLE IF NOT EXISTS states (
    tenant TEXT, session TEXT, version INTEGER, body TEXT, PRIMARY KEY (tenant, session));
"""
INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"


class Little(StoreAdapter):
    """The correct one: every write is one immediate transaction."""

    subject = "a little store"
    offers = frozenset(OFFERS)
    tenant = "t"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "little.db"

    async def open(self) -> None:
        self.db = sqlite3.connect(self.path, timeout=20, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(SCHEMA)

    async def close(self) -> None:
        self.db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, which is taken back if something goes wrong."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def last(self, session: str) -> int:
        """The highest seq of a session."""
        of = (self.tenant, session)
        found = self.db.execute("SELECT max(seq) FROM events WHERE tenant = ? AND session = ?", of).fetchone()[0]
        return int(found or 0)

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        with self.writing():
            return self.add(session, payload, key, expected)

    def add(self, session: str, payload: Payload, key: str | None, expected: Any) -> int:
        """The append itself, inside a transaction."""
        if (seq := self.replayed(session, payload, key)) is not None:
            return seq
        last = self.last(session)
        if expected is not None and expected != last:
            raise Refused("stale")
        self.db.execute(INSERT, (self.tenant, session, last + 1, key, self.encode(payload)))
        return last + 1

    def replayed(self, session: str, payload: Payload, key: str | None) -> int | None:
        """The seq of the event that has the key already."""
        of = (self.tenant, session, key)
        row = self.db.execute(
            "SELECT seq, body FROM events WHERE tenant = ? AND session = ? AND key = ?", of
        ).fetchone()
        if row is not None and row[1] != self.encode(payload):
            raise Refused("another body")
        return None if row is None else int(row[0])

    def encode(self, payload: Payload) -> str:
        """What is stored."""
        return json.dumps(payload)

    def decode(self, body: str) -> Payload:
        """What was stored."""
        payload: Payload = json.loads(body)
        return payload

    async def append_all(self, session: str, payloads: Sequence[Payload]) -> None:
        with self.writing():
            for payload in payloads:
                self.add(session, payload, None, None)

    def rows(self, session: str) -> list[tuple[str]]:
        """The stored bodies in order."""
        of = (self.tenant, session)
        return self.db.execute("SELECT body FROM events WHERE tenant = ? AND session = ? ORDER BY seq", of).fetchall()

    async def read(self, session: str) -> list[Payload]:
        return [self.decode(body) for (body,) in self.rows(session)]

    async def head(self, session: str) -> int:
        return self.last(session)

    async def get_state(self, session: str) -> tuple[Payload, Any]:
        of = (self.tenant, session)
        row = self.db.execute("SELECT body, version FROM states WHERE tenant = ? AND session = ?", of).fetchone()
        return ({}, 0) if row is None else (json.loads(row[0]), row[1])

    async def put_state(self, session: str, document: Payload, *, expected: Any) -> None:
        with self.writing():
            _, version = await self.get_state(session)
            if version != expected:
                raise Refused("stale")
            row = (self.tenant, session, version + 1, json.dumps(document))
            self.db.execute("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)", row)

    def for_tenant(self, tenant: str) -> "Little":
        view = type(self)(self.path.parent)
        view.db, view.tenant = self.db, tenant
        return view

    async def sessions(self) -> list[str]:
        found = self.db.execute("SELECT DISTINCT session FROM events WHERE tenant = ?", (self.tenant,))
        return [session for (session,) in found]

    async def delete(self, session: str) -> None:
        self.db.execute("DELETE FROM events WHERE tenant = ? AND session = ?", (self.tenant, session))

    async def damage(self, session: str, index: int) -> None:
        self.db.execute("UPDATE events SET body = '{torn' WHERE session = ? AND seq = ?", (session, index + 1))


class AcknowledgesEarly(Little):
    """Acknowledges, and writes a moment later."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        place = self.last(session) + 1
        asyncio.get_running_loop().call_later(0.02, self._write, session, payload, key)
        return place

    def _write(self, session: str, payload: Payload, key: str | None) -> None:
        with self.writing():
            self.add(session, payload, key, None)


class TearsBatches(Little):
    """Commits the events of one write one by one."""

    async def append_all(self, session: str, payloads: Sequence[Payload]) -> None:
        for payload in payloads:
            await self.append(session, payload)
            await asyncio.sleep(0.002)


class ForgetsKeys(Little):
    """Takes a key and does nothing with it."""

    def replayed(self, session: str, payload: Payload, key: str | None) -> int | None:
        return None

    def add(self, session: str, payload: Payload, key: str | None, expected: Any) -> int:
        return super().add(session, payload, None, expected)


class ForgetsKeysInARace(Little):
    """Looks for the key before it begins to write."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        if (seq := super().replayed(session, payload, key)) is not None:
            return seq
        await asyncio.sleep(0.005)
        with self.writing():
            return super().add(session, payload, None if key is None else f"{key}/{os.getpid()}", expected)

    def replayed(self, session: str, payload: Payload, key: str | None) -> int | None:
        return None


class FailsRetries(Little):
    """Knows that it has the key, and says so with an error."""

    def replayed(self, session: str, payload: Payload, key: str | None) -> int | None:
        if super().replayed(session, payload, key) is not None:
            raise sqlite3.IntegrityError("UNIQUE constraint failed")
        return None


class DropsOtherBodies(Little):
    """Takes another body under a used key for a retry."""

    def replayed(self, session: str, payload: Payload, key: str | None) -> int | None:
        try:
            return super().replayed(session, payload, key)
        except Refused:
            return self.last(session)


class LastWriterWins(Little):
    """Takes an expectation and does nothing with it."""

    def add(self, session: str, payload: Payload, key: str | None, expected: Any) -> int:
        return super().add(session, payload, key, None)


class ChecksThenWrites(Little):
    """Checks the expectation before the transaction that writes: right in turn, wrong in a race."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        if expected is not None and expected != self.last(session):
            raise Refused("stale")
        await asyncio.sleep(0.002)
        return await super().append(session, payload, key=key)


class LetsNobodyIn(Little):
    """Refuses every writer that expects something."""

    def add(self, session: str, payload: Payload, key: str | None, expected: Any) -> int:
        if expected is not None:
            raise Refused("stale")
        return super().add(session, payload, key, None)


class OverwritesState(Little):
    """The last state wins."""

    async def put_state(self, session: str, document: Payload, *, expected: Any) -> None:
        _, version = await self.get_state(session)
        await super().put_state(session, document, expected=version)


class OverwritesEvents(Little):
    """Reads where the log ends, and writes there a moment later, over whatever came meanwhile."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        seq = self.last(session) + 1
        await asyncio.sleep(0.001)
        row = (self.tenant, session, seq, key, self.encode(payload))
        self.db.execute("INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?)", row)
        return seq


class GivesUpWhenBusy(Little):
    """Does not wait for another writer."""

    async def open(self) -> None:
        await super().open()
        self.db.execute("PRAGMA busy_timeout = 0")

    @contextmanager
    def writing(self) -> Iterator[None]:
        with super().writing():
            time.sleep(0.002)
            yield


class SortsByItsOwnClock(Little):
    """Draws a time, and writes it a moment later: an event may appear before one that was read already."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        drawn = time.time_ns()
        await asyncio.sleep(random() * 0.005)
        with self.writing():
            self.db.execute(INSERT, (self.tenant, session, drawn, key, self.encode(payload)))
        return None


class ForgetsThatFloatsAreFloats(Little):
    """Writes 1.0 as 1."""

    def decode(self, body: str) -> Payload:
        def number(text: str) -> float:
            return int(float(text)) if float(text).is_integer() and abs(float(text)) < 1e15 else float(text)

        payload: Payload = json.loads(body, parse_float=number)
        return payload


class MixesSessions(Little):
    """Compares names without regard to case."""

    def rows(self, session: str) -> list[tuple[str]]:
        of = (self.tenant, session)
        select = "SELECT body FROM events WHERE tenant = ? AND session = ? COLLATE NOCASE ORDER BY session DESC, seq"
        return self.db.execute(select, of).fetchall()


class IgnoresTenants(Little):
    """Gives every tenant the same view."""

    def for_tenant(self, tenant: str) -> "Little":
        return self


class SkipsDamage(Little):
    """Passes over what it cannot read."""

    async def read(self, session: str) -> list[Payload]:
        found = []
        for (body,) in self.rows(session):
            try:
                found.append(self.decode(body))
            except ValueError:
                continue
        return found


class Revives(Little):
    """Hides a deleted session until it is written again."""

    async def open(self) -> None:
        await super().open()
        self.db.execute("CREATE TABLE IF NOT EXISTS hidden (session TEXT PRIMARY KEY)")

    async def delete(self, session: str) -> None:
        self.db.execute("INSERT INTO hidden VALUES (?)", (session,))

    def add(self, session: str, payload: Payload, key: str | None, expected: Any) -> int:
        self.db.execute("DELETE FROM hidden WHERE session = ?", (session,))
        return super().add(session, payload, key, expected)

    def rows(self, session: str) -> list[tuple[str]]:
        hidden = self.db.execute("SELECT 1 FROM hidden WHERE session = ?", (session,)).fetchone()
        return [] if hidden else super().rows(session)


class CopiesItself(Little):
    """Keeps the whole session again with every tenth event."""

    def add(self, session: str, payload: Payload, key: str | None, expected: Any) -> int:
        seq = super().add(session, payload, key, expected)
        self.db.execute("CREATE TABLE IF NOT EXISTS copies (body TEXT)")
        if seq % 10 == 0:
            self.db.execute("INSERT INTO copies VALUES (?)", (json.dumps(self.rows(session)),))
        return seq


class OnlyAppends(Little):
    """Correct, with none of what is optional."""

    offers = frozenset()


class InMemory(OnlyAppends):
    """Keeps everything in the process."""

    async def open(self) -> None:
        self.path = Path(":memory:")
        await super().open()


class Prints(OnlyAppends):
    """Correct, and talkative on stdout."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        print("appending", payload, flush=True)  # noqa: T201
        os.write(1, b"really\n")
        return await super().append(session, payload)


class Dies(OnlyAppends):
    """Ends its process when it is written to."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        sys.exit(7)


class Hangs(OnlyAppends):
    """Never answers."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        self.path.with_name("hanging").touch()
        await asyncio.Event().wait()
        return None


class WillNotOpenTwice(OnlyAppends):
    """Leaves a lock behind when it is killed, and does not open with it."""

    async def open(self) -> None:
        self._lock = self.path.with_suffix(".lock")
        self._lock.touch(exist_ok=False)
        await super().open()

    async def close(self) -> None:
        await super().close()
        self._lock.unlink()


class OffersNonsense(Little):
    """Offers what there is not."""

    offers = frozenset({"keys", "telepathy"})


class OffersWhatItLacks(StoreAdapter):
    """Offers verbs that it does not have."""

    offers = frozenset({"delete"})

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def not_an_adapter(folder: Path) -> object:
    """Makes something else."""
    return folder


class Talkative(Little):
    """A correct one that says too much."""

    async def open(self) -> None:
        sys.stderr.write("opening postgresql://ada:hunter2@db/x\n")
        await super().open()
