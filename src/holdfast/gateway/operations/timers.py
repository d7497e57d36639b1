"""What a gateway does by itself now and then: retention, purges, and backups.

When something was last done is known to the store, so a gateway that restarts often neither forgets it nor repeats it,
and of several gateways one does it at a time. A run that fails is said, counted and tried again, soon at first. When
the gateway stops, a run under way is given up: half a backup is no file, and the others end between two sessions.
"""

import asyncio
import logging
import os
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError
from holdfast.core.errors import Closing, InvalidInput, NotFound
from holdfast.core.redact import redact
from holdfast.core.retry import Backoff
from holdfast.gateway.folder import conversation_folder
from holdfast.gateway.operations.backups import Backups
from holdfast.store import Policy, Store
from holdfast.store.backup import Backup, BackupJob, back_up_apart
from holdfast.store.operators import Duty

RETENTION = "retention"
PURGE = "purge"
BACKUP = "backup"
LOOK_MS = 60_000
LONGEST_RETRY_MS = 3_600_000
STOP_SECONDS = 5.0
MOST_NAMED = 5
"""Damaged sessions of a backup that are named in the log; the backup names them all."""

log = logging.getLogger("holdfast.gateway")

Work = Callable[[], Awaitable[dict[str, Any]]]
"""Does it, and says what was done; the `problem` that somebody must look at, if it found one."""
LastDone = Callable[[Duty], int | None]
"""When it was last done, in milliseconds."""


@dataclass(frozen=True, slots=True)
class TimerPace:
    """How often timers may go off at most, and how long they wait for one another, in milliseconds."""

    shortest_ms: int = 1_000
    first_look_ms: int = 30_000
    """How long after a start the first look may be."""
    retry_ms: int = 60_000
    hold_ms: int = 60_000
    """How long a gateway that died keeps others from its duty."""


PACE = TimerPace()


@dataclass(frozen=True, slots=True)
class Timers:
    """What to do, and how often; limits that are None, and a backup that is never due, are left to others."""

    retention: Policy = field(default_factory=Policy)
    retention_every_ms: int = 3_600_000
    backup_every_ms: int | None = None
    backup_folder: Path | None = None
    backup_keep: int = 7
    purge_after_ms: int | None = None
    """How long archives are kept, which are looked at as often as retention."""
    pace: TimerPace = PACE

    def __post_init__(self) -> None:
        for every in (self.retention_every_ms, self.backup_every_ms):
            if every is not None and every < self.pace.shortest_ms:
                raise InvalidInput(f"a timer cannot go off every {every} ms", hint="once a second at most: 1s, 1h, 1d")
        for limit in (self.retention.max_age_ms, self.retention.max_sessions, self.retention.max_bytes):
            if limit is not None and limit < 1:
                raise InvalidInput("a limit of 0 would have every session deleted", hint="leave it out for no limit")
        if self.purge_after_ms is not None and self.purge_after_ms < self.pace.shortest_ms:
            raise InvalidInput("an archive must be kept for a second at least", hint="--purge-after 30d")
        if self.backup_keep < 1:
            raise InvalidInput("at least one backup must be kept")
        if self.backup_every_ms is None and self.backup_folder is not None:
            raise InvalidInput("a folder for backups, but no time for them", hint="--backup-every 1d")

    @property
    def retains(self) -> bool:
        """Whether there is a limit."""
        return self.retention != Policy()


@dataclass(frozen=True, slots=True)
class ServedStore:
    """The store that the timers are for: open, by its URL, and whether this gateway is its only one."""

    store: Store
    url: str
    alone: bool


class Timer:
    """One thing that is done again and again."""

    def __init__(
        self,
        name: str,
        every_ms: int,
        work: Work,
        served: ServedStore,
        holder: str,
        last_done: LastDone | None = None,
        *,
        pace: TimerPace = PACE,
    ) -> None:
        self.name = name
        self.every_ms = every_ms
        self.running = False
        self.runs = 0
        self.failures = 0
        self.failure: str | None = None
        """Why the last run failed, or what it found to be wrong; None once one went well."""
        self.last_success: int | None = None
        """In milliseconds, by whichever gateway."""
        self.last_failure: int | None = None
        self._work = work
        self._duties = served.store.duties
        self._holder = holder
        self._pace = pace
        self._last_done = last_done or (lambda duty: duty.done_at)
        self._in_a_row = 0

    async def go(self, stopping: asyncio.Event) -> None:
        """Do it whenever it is due, until the gateway stops; not all of them the moment gateways start."""
        pause = random.uniform(0, min(self._pace.first_look_ms, self.every_ms / 100))
        while not await _stops(stopping, pause):
            try:
                pause = await self._look(stopping)
            except Exception as error:
                pause = self._failed(error)

    async def _look(self, stopping: asyncio.Event) -> float:
        """Do it if it is due and nobody else is at it; milliseconds until the next look."""
        duty = await self._duties.look(self.name)
        wait = self._wait(duty)
        if wait <= 0:
            duty = await self._duties.take(self.name, self._holder, self._pace.hold_ms)
            if duty.holder != self._holder:
                return self._soon()
            if self._wait(duty) > 0:  # somebody was quicker
                await self._duties.leave(self.name, self._holder, done=False)
            else:
                await self._run(stopping)
            wait = self.every_ms
        return max(1.0, min(wait, LOOK_MS))

    def _wait(self, duty: Duty) -> float:
        """Milliseconds until it is due; one that was done in the future, by a clock gone wrong, is due now."""
        last = self.last_success = self._last_done(duty)
        return 0 if last is None or last > duty.now + LOOK_MS else last + self.every_ms - duty.now

    async def _run(self, stopping: asyncio.Event) -> None:
        done = False
        self.running = True
        self.runs += 1
        keeping = asyncio.create_task(self._keep())
        try:
            said = await self._work()
            done = True
        except Closing:
            if not stopping.is_set():
                raise
            log.info("%s was given up: the gateway stops", self.name)
        finally:
            self.running = False
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
            duty = await self._duties.leave(self.name, self._holder, done=done)
        if done:
            self.failure = None if said.get("problem") is None else redact(said["problem"])
            self._in_a_row, self.last_success = 0, duty.now
            level = logging.INFO if self.failure is None else logging.WARNING
            log.log(level, "%s was done", self.name, extra={"fields": said})

    async def _keep(self) -> None:
        """Keep the duty for as long as the work takes; losing it costs no more than work done twice."""
        while True:
            await asyncio.sleep(self._pace.hold_ms / 3_000)
            with suppress(HoldfastError):
                await self._duties.take(self.name, self._holder, self._pace.hold_ms)

    def _failed(self, error: Exception) -> float:
        self.failures += 1
        self._in_a_row += 1
        self.failure = redact(error.message if isinstance(error, HoldfastError) else repr(error))
        self.last_failure = self._duties.clock.now()
        pause = Backoff(self._soon(), min(LONGEST_RETRY_MS, self.every_ms)).pause(self._in_a_row)
        trace = None if isinstance(error, HoldfastError) else error
        log.warning("%s failed and is tried again in %d s: %s", self.name, pause // 1_000, self.failure, exc_info=trace)
        return pause

    def _soon(self) -> float:
        return min(self._pace.retry_ms, self.every_ms)


@asynccontextmanager
async def running(
    timers: Timers,
    served: ServedStore,
    data: Path,
    stopping: asyncio.Event,
    backed_up: Callable[[Backup], None] = lambda _: None,
) -> AsyncIterator[list[Timer]]:
    """The timers that are asked for, at work until the end, which gives up what is under way; backups are told."""
    made = list(chosen_timers(timers, served, data, stopping, backed_up))
    tasks = [asyncio.create_task(timer.go(stopping), name=f"holdfast-{timer.name}") for timer in made]
    try:
        yield made
    finally:
        stopping.set()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def chosen_timers(
    timers: Timers,
    served: ServedStore,
    data: Path,
    stopping: asyncio.Event,
    backed_up: Callable[[Backup], None] = lambda _: None,
) -> list[Timer]:
    """The timers that are asked for."""
    holder = "the only gateway" if served.alone else f"{os.getpid()}-{secrets.token_hex(8)}"
    found = []
    if timers.retains:
        retain = _retaining(timers.retention, served.store, stopping)
        found.append(Timer(RETENTION, timers.retention_every_ms, retain, served, holder, pace=timers.pace))
    if timers.purge_after_ms is not None:
        purge = _purging(timers.purge_after_ms, served.store, stopping)
        found.append(Timer(PURGE, timers.retention_every_ms, purge, served, holder, pace=timers.pace))
    if timers.backup_every_ms is not None:
        backups = Backups((timers.backup_folder or data / "backups").absolute(), timers.backup_keep)
        back_up = _backing_up(backups, served, conversation_folder(data).absolute(), stopping, backed_up)
        last_done = (lambda duty: backups.newest(duty.now)) if served.alone else None
        found.append(Timer(BACKUP, timers.backup_every_ms, back_up, served, holder, last_done, pace=timers.pace))
    return found


def _retaining(policy: Policy, store: Store, stopping: asyncio.Event) -> Work:
    def go_on(_done: int, _of: int) -> None:
        if stopping.is_set():
            raise Closing("the gateway is stopping")

    async def retain() -> dict[str, Any]:
        deleted = held = 0
        for tenant in await store.verification.tenants():
            retention = store.for_tenant(tenant).retention
            plan = await retention.plan(policy)
            held += len(plan.held)
            deleted += len(await retention.run(plan, progress=go_on))
        return {"deleted": deleted, "held": held}

    return retain


def _purging(after_ms: int, store: Store, stopping: asyncio.Event) -> Work:
    async def purge() -> dict[str, Any]:
        purged = 0
        before = store.clock.now() - after_ms
        for tenant in await store.verification.tenants():
            archives = store.for_tenant(tenant).archives
            while due := await archives.due(before):
                gone = 0
                for session_id in due:
                    if stopping.is_set():
                        raise Closing("the gateway is stopping")
                    with suppress(InvalidInput, NotFound):  # still on its way to the archive, or erased meanwhile
                        await archives.purge(session_id)
                        gone += 1
                purged += gone
                if not gone:
                    break
        return {"purged": purged}

    return purge


def _backing_up(
    backups: Backups,
    served: ServedStore,
    folder: Path,
    stopping: asyncio.Event,
    backed_up: Callable[[Backup], None],
) -> Work:
    async def back_up() -> dict[str, Any]:
        await asyncio.to_thread(backups.prepare)
        path = backups.path_at(served.store.clock.now())
        made = await back_up_apart(BackupJob(served.url, path, served.store.engine.seen(), folder), stopping)
        backed_up(made)
        gone = await asyncio.to_thread(backups.remove_old, made)
        said = {"path": str(made.path), "bytes": made.size_bytes, "sessions": made.sessions, "removed": len(gone)}
        if made.files:
            said["files"] = made.files
        if made.damaged:
            named = "; ".join(str(each) for each in made.damaged[:MOST_NAMED])
            said["problem"] = f"{len(made.damaged)} of its sessions are damaged: {named}"
        return said

    return back_up


async def _stops(stopping: asyncio.Event, pause_ms: float) -> bool:
    """Whether the gateway stops within this time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(pause_ms / 1_000):
            await stopping.wait()
    return stopping.is_set()
