"""An open store as one tenant sees it: its log, and its parts, each for one idea."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from holdfast.core import Appended, Clock, Event, IdSource, Lease, NewEvent, Resumed, SystemClock, TimeOrderedIds
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.ids import check_session_id, check_tenant
from holdfast.core.store_file import Claim, sqlite_path
from holdfast.store.attachments.attachments import Attachments
from holdfast.store.attachments.sweep import sweep_step
from holdfast.store.engine import Database, Seen, Tx
from holdfast.store.feed.commit_versions import CommitVersions
from holdfast.store.feed.feed import Feed
from holdfast.store.lanes.chores import Chore, ChoreStep, chore_of
from holdfast.store.lanes.lane_counts import LaneCounts
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.lifecycle import arrivals, returns
from holdfast.store.lifecycle.archives import Archives, purge_step
from holdfast.store.lifecycle.deletion import Deletion, move_step
from holdfast.store.lifecycle.erasure import Erasure
from holdfast.store.lifecycle.forks import Forks
from holdfast.store.lifecycle.retention import Retention
from holdfast.store.lifecycle.undeletion import Undeletion
from holdfast.store.log.append import append
from holdfast.store.log.batches import BatchKey
from holdfast.store.log.log_reader import PAGE, STRETCH_BYTES, Stretch, existing_head, stretch
from holdfast.store.log.prepare import prepare_all
from holdfast.store.log.verify import Verification
from holdfast.store.machinery import Machinery, TenantWorkers
from holdfast.store.memory.memories import Memories
from holdfast.store.migrations import newest as newest_migration
from holdfast.store.operators import checks
from holdfast.store.operators.audit import Audit
from holdfast.store.operators.duties import Duties
from holdfast.store.operators.proofs import Proofs
from holdfast.store.operators.tokens import Tokens
from holdfast.store.part import Workers, session_lock
from holdfast.store.sessions.agents import SubAgents
from holdfast.store.sessions.checkpoints import Checkpoints
from holdfast.store.sessions.effects import Effects
from holdfast.store.sessions.goals import Goals
from holdfast.store.sessions.keys import Keys
from holdfast.store.sessions.resume import DEFAULT_TAIL, resume
from holdfast.store.sessions.sessions import Sessions
from holdfast.store.sessions.snapshot import StoreSnapshot
from holdfast.store.sessions.state import MAX_STATE, States
from holdfast.store.sessions.state_versions import StateVersions
from holdfast.store.sessions.usage import Usages
from holdfast.store.tasks.first_messages import FirstMessages
from holdfast.store.tasks.leases import FencedWorkers, Leases
from holdfast.store.tasks.outbox import Outbox
from holdfast.store.tasks.push_configs import StoredPushConfigs
from holdfast.store.tasks.servers import Servers
from holdfast.store.tasks.task_texts import TaskTexts
from holdfast.store.tasks.tasks import Tasks
from holdfast.store.text.search import Search
from holdfast.store.text.word_index import index_chore
from holdfast.store.transfer.exports import Exports
from holdfast.store.transfer.imports import Imports
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning
from holdfast.store.urls import open_engine

DEFAULT_TENANT = "default"
MIGRATIONS = {"sqlite": "sqlite", "postgresql": "postgres"}
"""The folder of each engine's migrations."""
STEPS: tuple[ChoreStep, ...] = (arrivals.undo_step, returns.undo_step, move_step, purge_step, sweep_step)

Result = TypeVar("Result")


class Store:
    """A store as one tenant sees it; `for_tenant` gives another's view of the same store, and `under` that of a turn:
    what is written through it is refused once the lease was lost."""

    def __init__(
        self, machinery: Machinery, tenant: str, clock: Clock, ids: IdSource, *, lease: Lease | None = None
    ) -> None:
        self.tenant = tenant
        self.store_id = machinery.engine.store_id
        self._machinery = machinery
        self.clock = clock
        """By which its events are dated."""
        self._ids = ids
        workers: Workers = TenantWorkers(machinery, tenant)
        self._workers = workers = workers if lease is None else FencedWorkers(workers, tenant, lease)
        parts = (tenant, workers, clock, ids, machinery.tuning)
        self.sessions = Sessions(*parts)
        self.keys = Keys(*parts)
        self.state = States(*parts, machinery.documents)
        self.state_versions = StateVersions(*parts)
        self.leases = Leases(*parts)
        self.tasks = Tasks(*parts)
        self.task_texts = TaskTexts(*parts)
        self.first_messages = FirstMessages(*parts)
        self.push_configs = StoredPushConfigs(*parts)
        self.outbox = Outbox(*parts)
        self.goals = Goals(*parts)
        self.agents = SubAgents(*parts)
        self.checkpoints = Checkpoints(*parts)
        self.effects = Effects(*parts)
        self.usage = Usages(*parts)
        self.forks = Forks(*parts)
        self.deletion = Deletion(*parts)
        self.undeletion = Undeletion(*parts)
        self.archives = Archives(*parts, machinery.engine)
        self.retention = Retention(*parts)
        self.erasure = Erasure(*parts, machinery.engine)
        self.exporting = Exports(*parts)
        self.importing = Imports(*parts, machinery.engine)
        self.memories = Memories(*parts, machinery.engine)
        self.attachments = Attachments(*parts)
        self.tokens = Tokens(*parts)
        self.audit = Audit(*parts)
        self.duties = Duties(*parts)
        self.proofs = Proofs(*parts)
        self.servers = Servers(*parts)
        self.verification = Verification(*parts, machinery.engine)
        self.search = Search(*parts, machinery.engine)
        self.commit_versions = CommitVersions(tenant, machinery.engine, workers)
        self.feed = Feed(*parts, machinery.hubs, machinery.engine.store_id)

    @property
    def engine(self) -> Database:
        """The database behind the store, as far as it concerns whoever uses the store."""
        return self._machinery.engine

    async def copy_to(self, path: Path, told: Callable[[int, int], None]) -> None:
        """Copy the whole store, as it is at one moment, to a new or empty file, and tell how far the copy is."""
        await asyncio.to_thread(self._machinery.engine.copy_to, path, told)

    @property
    def failure(self) -> HoldfastError | None:
        """Why the store no longer acknowledges writes, or None."""
        return self._machinery.failure()

    @property
    def schema_version(self) -> int:
        """The version of the schema that this Holdfast writes."""
        return newest_migration(MIGRATIONS[self.engine.name])

    @property
    def lane_counts(self) -> Sequence[LaneCounts]:
        """What each of the lanes, which write, has done; none, if it was opened for reading."""
        return [lane.counts for lane in self._machinery.lanes]

    @property
    def waiting_writes(self) -> Sequence[int]:
        """How many writes wait for each of the lanes."""
        return [lane.waiting for lane in self._machinery.lanes]

    @property
    def commits(self) -> int:
        """How many transactions were committed since it was opened."""
        return sum(lane.commits for lane in self._machinery.lanes)

    @property
    def feed_lag(self) -> float:
        """The seconds by which this process's live feeds are behind."""
        return self._machinery.hubs.lag()

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading alone."""
        return not self._machinery.lanes

    def for_tenant(self, tenant: str) -> "Store":
        """Another tenant's view; closing either closes both."""
        return Store(self._machinery, check_tenant(tenant), self.clock, self._ids)

    def under(self, lease: Lease) -> "Store":
        """The same view for whoever holds a lease: its writes are LeaseLost once a newer one was given out."""
        return Store(self._machinery, self.tenant, self.clock, self._ids, lease=lease)

    async def append(
        self,
        session_id: str,
        events: Iterable[NewEvent],
        *,
        expected_seq: int | None = None,
        lease: Lease | None = None,
        create: bool = True,
        batch_key: str | None = None,
    ) -> Appended:
        """Append events in one atomic write; returns once they are durable.

        Events that are there already, by event id or idempotency key, are not written again. `expected_seq` refuses
        a stale writer, `lease` a fenced one; `create=False` refuses an unknown session. `batch_key` is a key for all of
        them: events without one get theirs from it, and a batch of another length under it is refused. A caller that
        is cancelled does not know the outcome: appending again with the same keys tells.
        """
        check_session_id(session_id)
        _check_count(expected_seq, "expected_seq")
        prepared = prepare_all(events, self.clock, self._ids)
        batch = None if batch_key is None else BatchKey(batch_key)
        if batch is not None:
            prepared = batch.give(prepared)

        def write(tx: Tx) -> Appended:
            if batch is not None:
                batch.check_length(tx, self.tenant, session_id, prepared)
            return append(tx, self.tenant, session_id, prepared, expected_seq=expected_seq, lease=lease, create=create)

        return await self._workers.write(write, (session_lock(self.tenant, session_id),), len(prepared))

    async def read(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        types: Iterable[str] | None = None,
    ) -> list[Event]:
        """Events with after < seq < before, oldest first, all of them or the first `limit`."""
        check_session_id(session_id)
        for number, name in ((after, "after"), (before, "before"), (limit, "limit")):
            _check_count(number, name)
        return (await self._collect(session_id, after, before, limit, types, newest=False))[:limit]

    async def stretch(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = PAGE,
        newest: bool = False,
        most_bytes: int = STRETCH_BYTES,
    ) -> Stretch:
        """The first of the events with after < seq < before, or with `newest` the last: as many as fit `most_bytes`.

        At least one if there is any, however large; for those who go through a log that may not fit in memory.
        """
        check_session_id(session_id)
        for number, name in ((after, "after"), (before, "before"), (limit, "limit"), (most_bytes, "most_bytes")):
            _check_count(number, name)
        return await self._workers.read(
            lambda tx: stretch(
                tx,
                existing_head(tx, self.tenant, session_id),
                after,
                before,
                limit,
                newest=newest,
                most_bytes=most_bytes,
            )
        )

    async def newest(
        self,
        session_id: str,
        *,
        before: int | None = None,
        limit: int = 100,
        types: Iterable[str] | None = None,
    ) -> list[Event]:
        """The newest `limit` events, oldest first."""
        check_session_id(session_id)
        for number, name in ((before, "before"), (limit, "limit")):
            _check_count(number, name)
        found = await self._collect(session_id, 0, before, limit, types, newest=True)
        return found[-limit:] if limit else []

    async def _collect(
        self,
        session_id: str,
        after: int,
        before: int | None,
        limit: int | None,
        types: Iterable[str] | None,
        *,
        newest: bool,
    ) -> list[Event]:
        """The events with after < seq < before, stretch by stretch from either end, until there are `limit` or more."""
        wanted = None if types is None else frozenset(types)
        most_bytes = self._machinery.tuning.read_bytes if wanted is None else STRETCH_BYTES
        found: list[Event] = []
        ended = False
        while not ended:
            most = PAGE if limit is None or wanted is not None else min(PAGE, limit - len(found))
            page = await self.stretch(
                session_id, after=after, before=before, limit=most, newest=newest, most_bytes=most_bytes
            )
            end = 0 if newest else len(found)
            found[end:end] = page.events if wanted is None else [each for each in page.events if each.type in wanted]
            ended = page.ended or (limit is not None and len(found) >= limit)
            if page.events and newest:
                before = page.events[0].seq
            elif page.events:
                after = page.events[-1].seq
        return found

    async def resume(self, session_id: str, *, limit: int = DEFAULT_TAIL) -> Resumed:
        """The session, its newest snapshot, the newest events after that, its state, and what is open: one moment."""
        check_session_id(session_id)
        return await self._workers.read(lambda tx: resume(tx, self.tenant, session_id, limit), ReadLength.PAGE)

    async def snapshot(self, look: Callable[[StoreSnapshot], Result], length: ReadLength = ReadLength.LONG) -> Result:
        """What `look` finds in the tenant's sessions as they are at one moment; it runs on a thread of the store."""
        return await self._workers.read(lambda tx: look(StoreSnapshot(tx, self.tenant)), length)

    async def check_readable(self) -> None:
        """Return once something was read; a HoldfastError says why it was not."""
        await checks.check_readable(self._workers)

    async def check_writable(self) -> None:
        """Return once a write is durable; a HoldfastError says why it is not."""
        await checks.check_writable(self._workers)

    async def declare_all_dead(self) -> None:
        """Free what other processes held: for a process that knows it is the store's only one."""
        await self.tasks.declare_all_dead()
        await arrivals.declare_all_dead(self._machinery)
        await returns.declare_all_dead(self._machinery)

    def let_go(self) -> None:
        """Wait for the database no longer: for a close that must end, whatever the database does."""
        self._machinery.let_go()

    async def close(self) -> None:
        """Acknowledge what is queued, then release everything."""
        self._machinery.give_way.close()
        await asyncio.to_thread(self._machinery.close)

    async def __aenter__(self) -> "Store":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


async def open_store(
    url: str,
    *,
    tenant: str = DEFAULT_TENANT,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    read_only: bool = False,
    max_state: int = MAX_STATE,
    claim: Claim | None = None,
    seen: Seen | None = None,
    tuning: StoreTuning = DEFAULT_TUNING,
) -> Store:
    """Open `sqlite:///path` or `postgresql://…`, making or migrating the schema unless `read_only`.

    `max_state` is how many bytes a session's state may have. With a `claim`, as the one server of a SQLite store:
    StoreInUse if it has another. With what another process has `seen` of the database server (`store.engine.seen()`):
    EngineRefused if only an older history of it is there. `tuning` is how long it waits and how much it does at once.
    """
    check_tenant(tenant)
    clock = clock or SystemClock()

    def start() -> Machinery:
        engine = open_engine(url, clock, read_only=read_only, claim=claim, seen=seen, tuning=tuning)
        chores = (*chores_of(tuning), index_chore(engine.text, tuning), *engine.chores)
        return Machinery(engine, read_only=read_only, chores=chores, max_state=max_state, tuning=tuning)

    machinery = await asyncio.to_thread(start)
    return Store(machinery, tenant, clock, ids or TimeOrderedIds(clock))


def chores_of(tuning: StoreTuning) -> tuple[Chore, ...]:
    """What an idle lane finishes of what others have left, whichever the engine."""
    return tuple(chore_of(step, tuning) for step in STEPS)


async def shrink_store(url: str) -> tuple[int, int]:
    """Write a SQLite store's file anew, without what is free in it; its sizes before and after.

    For whoever holds the store's lock: nothing else may have the file open.
    """
    path = sqlite_path(url)
    if path is None:
        raise InvalidInput("only the file of a SQLite store can be written anew")
    async with await open_store(url):
        pass  # it is a store of ours, and its schema is up to date
    from holdfast.store.sqlite.space import shrink

    return await asyncio.to_thread(shrink, path)


def _check_count(number: int | None, name: str) -> None:
    if number is not None and (isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63):
        raise InvalidInput(f"{name} must be a whole number from 0, not {number!r:.80}")
