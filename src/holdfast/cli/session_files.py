"""The process that keeps a folder of files as a gateway's sessions are, for `holdfast serve --files DIR`.

It is told where on a line of stdin, and ends when stdin does: however the gateway ends, this process ends too. It
follows the gateway's feed and writes what has changed, a session at a time. At its start and once a minute it looks
through all sessions, for what no feed tells (an import) and for what it could not write. On stdout it says as JSON that
it has caught up, and which sessions it cannot write. If it can write nothing, or loses the gateway, it says so and
ends.
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from holdfast.cli.gateway_sessions import GatewaySessions
from holdfast.cli.options import Location
from holdfast.cli.service import serving
from holdfast.core import HoldfastError
from holdfast.core.errors import StorageFull
from holdfast.core.problem import problem
from holdfast.core.race import first_of, is_set_within
from holdfast.core.redact import redact
from holdfast.store.transfer import FolderMirror

SWEEP_SECONDS = 60.0
GATHER_SECONDS = 0.05
"""How long what comes is gathered, so that a burst in a session is written once."""
MOST_CHANGED = 10_000
"""Sessions that are known to have changed; if there are more, all are looked through."""
MOST_NAMED = 20
NICE = 5
BUSY = frozenset({429, 502, 503, 504})
"""Statuses of a gateway that cannot answer for any session now."""


class Changes:
    """Sessions that have changed since their folders were written, and up to which event; the first one first."""

    def __init__(self) -> None:
        self._seqs: dict[str, int] = {}
        self.came = asyncio.Event()
        self.too_many = False

    def add(self, session_id: str, seq: int) -> None:
        """Take note of an event."""
        if session_id in self._seqs or len(self._seqs) < MOST_CHANGED:
            self._seqs[session_id] = max(seq, self._seqs.get(session_id, 0))
        else:
            self.too_many = True
        self.came.set()

    def take(self) -> tuple[str, int] | None:
        """The session to write next, which is no longer among them; None if there is none."""
        if not self._seqs:
            self.came.clear()
            return None
        session_id = next(iter(self._seqs))
        return session_id, self._seqs.pop(session_id)


class FileKeeper:
    """Brings what has changed at a gateway to the folders of a mirror."""

    def __init__(self, sessions: GatewaySessions, mirror: FolderMirror) -> None:
        self._sessions = sessions
        self._mirror = mirror
        self._changes = Changes()
        self._troubles: dict[str, str] = {}

    async def read(self, feed: AsyncIterator[dict[str, Any]]) -> None:
        """Take note of what the feed tells, until it ends."""
        async for message in feed:
            self._changes.add(message["sessionId"], message["seq"])

    async def write(self) -> None:
        """Write what has changed, for ever, and look through all sessions now and then."""
        loop = asyncio.get_running_loop()
        while True:
            await self._look_through()
            _say(caughtUp=True)
            next_look = loop.time() + SWEEP_SECONDS
            while not self._changes.too_many and (left := next_look - loop.time()) > 0:
                if await is_set_within(self._changes.came, left):
                    await asyncio.sleep(GATHER_SECONDS)
                    await self._write_changes()

    async def _look_through(self) -> None:
        """Write all that is behind, and remove what is gone; what changes meanwhile goes first."""
        self._changes.too_many = False
        there: set[str] = set()
        async with aclosing(self._sessions.rows()) as rows:
            async for row in rows:
                there.add(row["sessionId"])
                if self._mirror.reached(row["sessionId"]) != row["headSeq"]:
                    await self._bring(row["sessionId"])
                await self._write_changes()
        for session_id in self._mirror.session_ids():
            if session_id not in there:
                await self._bring(session_id)
                await self._write_changes()

    async def _write_changes(self) -> None:
        while (change := self._changes.take()) is not None:
            session_id, seq = change
            if self._mirror.reached(session_id) < seq:
                await self._bring(session_id)

    async def _bring(self, session_id: str) -> None:
        """Write a session; one that cannot be written is said, and is no trouble of the others."""
        try:
            await self._mirror.bring(self._sessions, session_id)
        except StorageFull:
            raise
        except HoldfastError as error:
            if problem(error)["status"] in BUSY:
                raise
            self._say_trouble(session_id, redact(f"{session_id}: {error.message}"))
        else:
            self._say_trouble(session_id, None)

    def _say_trouble(self, session_id: str, trouble: str | None) -> None:
        if self._troubles.get(session_id) == trouble:
            return
        if trouble is None:
            del self._troubles[session_id]
        elif len(self._troubles) < MOST_NAMED:
            self._troubles[session_id] = trouble
        _say(troubles=list(self._troubles.values()))


async def keep(url: str, folder: Path) -> None:
    """Keep the folder until the gateway goes, which is an error."""
    async with serving(Location(folder, None, url, None)) as service:
        with FolderMirror(folder) as mirror:
            async with aclosing(service.follow()) as feed:
                cursor: str = (await anext(feed))["cursor"]
                mirror.adopt(cursor.partition(".")[0])
                keeper = FileKeeper(GatewaySessions(service), mirror)
                for ended in await first_of(keeper.read(feed), keeper.write()):
                    if ended is not None:
                        ended.result()


def _main() -> int:
    with suppress(OSError):
        os.nice(NICE)
    order = json.loads(sys.stdin.readline())
    os.environ["HOLDFAST_TOKEN"] = order["token"]
    try:
        asyncio.run(_until_alone(keep(order["url"], Path(order["folder"]))))
    except asyncio.CancelledError:
        return 0
    except HoldfastError as error:
        _say(error=redact(error.message))
        return 2
    return 0


async def _until_alone(work: Any) -> None:
    """Run until nobody holds the other end of stdin; what is being written then is written to its end."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def wait() -> None:
        sys.stdin.read()
        with suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(task.cancel)

    threading.Thread(target=wait, daemon=True).start()
    await task


def _say(**members: Any) -> None:
    with suppress(OSError):
        sys.stdout.write(json.dumps(members) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(_main())
