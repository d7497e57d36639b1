"""A lane: a thread with one connection that runs writes and commits them in groups.

A caller's write is acknowledged only after the commit that holds it. One write's refusal takes back that write
alone; a database error takes back the group, and its members run again one by one. A cancelled caller gives up
waiting, not the write. After a failed fsync, when the database stays away, or when another server has taken the store
over, the lane says so and acknowledges nothing more. While nobody comes it does its chores, a step at a time, so that a
write waits for one step at most.
"""

import asyncio
import contextlib
import copy
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from holdfast.core.errors import (
    Busy,
    Closing,
    HoldfastError,
    OutcomeUnknown,
    StoreFailed,
    StoreInUse,
    StoreUnavailable,
)
from holdfast.store.chores import MAKES_ROOM, Chore, Chores
from holdfast.store.engine import Damage, Recorded, Tx, Writer
from holdfast.store.tally import Tally

MAX_WRITES = 256
MAX_WEIGHT = 2_000
MAX_SECONDS = 0.010
MAX_QUEUED = 10_000
IDLE_SECONDS = 0.1
BUSY_CHORE_SECONDS = 2.0
LOOK_SECONDS = 5.0
SLOW_COMMIT_SECONDS = 0.001
MAX_GATHER_SECONDS = 0.005
RECONNECT_SECONDS = 10.0

log = logging.getLogger("holdfast.store")


@dataclass(slots=True, eq=False)
class Write:
    """One caller's write on its way through a lane."""

    run: Callable[[Tx], Any]
    locks: Sequence[str]
    weight: int
    makes_room: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    rerun: bool = False
    result: Any = None
    error: BaseException | None = None
    recorded: list[Recorded] = field(default_factory=list)


class _Spoiled(Exception):
    """A write was refused after it had changed something: the group must run again with savepoints."""


class _Lost(Exception):
    """The connection went; `unknown` if that was while committing."""

    def __init__(self, error: Exception, *, unknown: bool) -> None:
        self.error = error
        self.unknown = unknown


class Lane:
    """Runs writes in the order they came; see the module's contract."""

    def __init__(
        self,
        name: str,
        writer: Writer,
        published: Callable[[list[Recorded]], None],
        chores: Sequence[Chore] = (),
    ) -> None:
        self.commits = 0
        self.waiting = 0
        self.tally = Tally()
        self.failure: HoldfastError | None = None
        self._writer = writer
        self._published = published
        self._chores = Chores(chores)
        self._queue: SimpleQueue[Write | None] = SimpleQueue()
        self._closing = False
        self._ended = False
        self._commit_seconds = 0.0
        self._answered = 0
        self._next_chore = 0.0
        self._in_hand: list[Write] = []
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def submit(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        """The write's result, once it is durable; one that makes room may go on when others are refused."""
        if self.failure is not None:
            raise copy.copy(self.failure)
        if self._closing:
            raise Closing("the store is closing")
        if self.waiting >= MAX_QUEUED:
            raise Busy(f"{self.waiting} writes are waiting already", retry_after=1)
        loop = asyncio.get_running_loop()
        write = Write(run, locks, weight, makes_room, loop, loop.create_future())
        self.waiting += 1
        self._queue.put(write)
        if self._ended:
            raise self.failure or Closing("the store is closing")
        try:
            return await write.future
        finally:
            del write  # a refusal's trace leads here: it must not keep the write, payload and all, that keeps it

    def take_no_more(self) -> None:
        """Refuse new writes, and try no longer to reach a database that has gone."""
        self._closing = True

    def close(self) -> None:
        """Finish what is queued, then end the thread and its connection. Blocks."""
        self._closing = True
        self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        pending: deque[Write] = deque()
        stop = False
        try:
            self._do_chores()
            while not (stop and not pending):
                self._gather()
                stop = self._fill(pending) or stop
                batch = self._next_batch(pending)
                if batch:
                    self._in_hand = batch
                    self._process(batch, pending)
                    self._in_hand = []
                    self._rest(idle=False)
                    self._do_one_chore_in_a_while()
        except BaseException as error:
            log.critical("a lane of the store died", exc_info=error)
            self.failure = self.failure or StoreFailed(f"a lane of the store died: {error!r}")
        finally:
            self._refuse_rest(pending)
            self._writer.close()

    def _gather(self) -> None:
        """On a slow disk, let those who were just answered come back: a fuller group costs the same sync."""
        if self._commit_seconds < SLOW_COMMIT_SECONDS or self._answered < 2:
            return
        deadline = time.monotonic() + min(self._commit_seconds / 2, MAX_GATHER_SECONDS)
        while self._queue.qsize() < self._answered and time.monotonic() < deadline:
            time.sleep(0.0002)

    def _fill(self, pending: deque[Write]) -> bool:
        """Move what is queued to `pending`, waiting if there is nothing at all; True at the end of the queue."""
        try:
            item = self._wait() if not pending else self._queue.get_nowait()
            while True:
                if item is None:
                    return True
                pending.append(item)
                if len(pending) >= MAX_WRITES:
                    return False
                item = self._queue.get_nowait()
        except Empty:
            return False

    def _wait(self) -> Write | None:
        """The next write, or the end; chores and house-keeping once nobody has come for a while, and now and then."""
        seconds = IDLE_SECONDS
        while True:
            try:
                return self._queue.get(timeout=seconds)
            except Empty:
                self._do_chores()
                self._rest(idle=True)
                seconds = LOOK_SECONDS

    def _do_chores(self) -> None:
        """A step of each chore in turn, until none has more to do or somebody comes."""
        self._chores.look()
        while self._queue.empty() and self.failure is None and (chore := self._chores.next()):
            self._do(chore)
            self._rest(idle=False)

    def _do_one_chore_in_a_while(self) -> None:
        """Beside a load that leaves no pause: one step now and then, so that chores come to their end as well."""
        now = time.monotonic()
        if now < self._next_chore or self.failure is not None:
            return
        self._next_chore = now + BUSY_CHORE_SECONDS
        self._chores.look()
        chore = self._chores.next()
        if chore is not None:
            self._do(chore)

    def _do(self, chore: Chore) -> None:
        """One step of a chore; a step that changed nothing costs nothing, and trouble takes back that step alone."""
        writer = self._writer
        recorded: list[Recorded] = []
        committing = False
        tx: Tx | None = None
        try:
            tx = writer.begin((), cautious=True, makes_room=getattr(chore, MAKES_ROOM, False))
            tx.recorded, tx.rerun, tx.changed = recorded, False, False
            more = chore(tx)
            if tx.changed:
                committing = True
                writer.commit()
                self.commits += 1
            else:
                writer.rollback()
        except writer.errors as error:
            self._chores.failed(chore, error)
            self._end_failed_step(error, committing=committing)
        except Exception as error:
            writer.rollback()
            self._note_failure(error)
            if tx is not None:  # else room is short, which the engine says itself
                self._chores.failed(chore, error)
        else:
            self._chores.went_well(chore, more=more and committing)
            if recorded and committing:
                self.tally.events += len(recorded)
                self._published(recorded)

    def _end_failed_step(self, error: Exception, *, committing: bool) -> None:
        try:
            self._after_error(error, committing=committing)
        except _Lost:
            with contextlib.suppress(*self._writer.errors):
                self._writer.reconnect()  # once: the next write, or the next look, goes on trying

    def _next_batch(self, pending: deque[Write]) -> list[Write]:
        """The writes of one group, all of the same kind: room made and room needed are not mixed."""
        batch: list[Write] = []
        weight = 0
        while pending and len(batch) < MAX_WRITES:
            write = pending[0]
            if batch and (weight + write.weight > MAX_WEIGHT or write.makes_room != batch[0].makes_room):
                break
            weight += write.weight
            batch.append(pending.popleft())
        return batch

    def _process(self, batch: list[Write], pending: deque[Write]) -> None:
        if self.failure is not None:
            for write in batch:
                write.error = copy.copy(self.failure)
            self._settle(batch)
            return
        try:
            done = self._commit_group(batch)
            pending.extendleft(reversed(batch[done:]))
            self._settle(batch[:done])
        except _Lost as lost:
            self._rescue(batch, lost)
        except HoldfastError as refusal:
            self._note_failure(refusal)
            for write in batch:
                write.error = copy.copy(refusal)
            self._settle(batch)
        except self._writer.errors as error:
            if len(batch) == 1 and self.failure is None:
                batch[0].error = self._writer.explain(error)
                self._settle(batch)
            else:
                self._run_one_by_one(batch)

    def _commit_group(self, batch: list[Write], *, cautious: bool = False, guarded: bool = False) -> int:
        """Run and commit as many of the batch as fit the time; returns how many that were.

        Savepoints are rarely needed, since nearly every refusal comes before the first change: a group runs without
        them, and once more with them (`guarded`) if a refusal came late.
        """
        writer = self._writer
        locks = batch[0].locks if len(batch) == 1 else [name for write in batch for name in write.locks]
        committing = False
        done = 0
        # Time at work, not time that passed: a lane that waits for the interpreter lock must not commit crumbs.
        deadline = time.thread_time() + MAX_SECONDS
        try:
            tx = writer.begin(locks, cautious=cautious, makes_room=batch[0].makes_room)
            if len(batch) == 1:
                if not self._attempt(tx, batch[0]):
                    writer.rollback()
                    return 1
                done = 1
            else:
                for write in batch:
                    self._run_beside_others(tx, write, guarded=guarded)
                    done += 1
                    if time.thread_time() > deadline:
                        break
            committing = True
            began = time.monotonic()
            writer.commit()
            self._commit_seconds = time.monotonic() - began
            self._answered = done
            self.tally.committed(done, self._commit_seconds)
        except _Spoiled:
            writer.rollback()
            return self._commit_group(batch, guarded=True)
        except writer.errors as error:
            self._after_error(error, committing=committing)
            raise
        self.commits += 1
        return done

    def _run_beside_others(self, tx: Tx, write: Write, *, guarded: bool) -> None:
        if guarded:
            self._writer.savepoint()
        if self._attempt(tx, write):
            if guarded:
                self._writer.release()
        elif guarded:
            self._writer.undo()
        elif tx.changed:
            raise _Spoiled

    def _attempt(self, tx: Tx, write: Write) -> bool:
        """Run a write; False if it was refused, for whatever reason but a database error."""
        tx.recorded = write.recorded = []
        tx.rerun, tx.changed, write.error = write.rerun, False, None
        try:
            write.result = write.run(tx)
        except self._writer.errors:
            raise
        except Exception as refusal:
            write.error, write.recorded = refusal, []
            if isinstance(refusal, HoldfastError):
                refusal.__traceback__ = None  # it was foreseen, and the trace would lead back to the write
            return False
        return True

    def _after_error(self, error: Exception, *, committing: bool) -> None:
        damage = self._writer.damage(error, committing=committing)
        if damage is Damage.DISCONNECTED:
            raise _Lost(error, unknown=committing) from error
        if damage is Damage.FATAL:
            log.critical("the store stops acknowledging: %s", error)
            self.failure = StoreFailed(f"the store has stopped acknowledging: {error}")
        self._writer.rollback()

    def _note_failure(self, error: Exception) -> None:
        """Acknowledge nothing more if the engine says, in its own words, that it cannot go on."""
        if isinstance(error, (StoreFailed, StoreInUse)) and self.failure is None:
            log.critical("the store stops acknowledging: %s", error)
            self.failure = error

    def _rest(self, *, idle: bool) -> None:
        try:
            self._writer.rest(idle=idle)
        except HoldfastError as error:
            self._note_failure(error)
        except self._writer.errors as error:
            self._after_error(error, committing=True)

    def _run_one_by_one(self, batch: list[Write]) -> None:
        for index, write in enumerate(batch):
            if self.failure is not None:
                write.error = OutcomeUnknown(f"the store failed while this was being written: {self.failure.message}")
                self._settle([write])
                continue
            write.error = None
            try:
                self._commit_group([write], cautious=True)
            except _Lost as lost:
                self._rescue(batch[index:], lost)
                return
            except HoldfastError as refusal:
                self._note_failure(refusal)
                write.error = refusal
            except self._writer.errors as error:
                write.error = self._writer.explain(error)
            self._settle([write])

    def _rescue(self, batch: list[Write], lost: _Lost) -> None:
        """Reconnect and run the batch again; event ids make a write that had been committed a replay."""
        for write in batch:
            write.rerun = write.rerun or lost.unknown
        deadline = time.monotonic() + RECONNECT_SECONDS
        pause = 0.05
        while not self._closing or pause < 0.5:
            try:
                self._writer.reconnect()
            except self._writer.errors as error:
                if time.monotonic() > deadline:
                    lost.error = error
                    break
                time.sleep(pause)
                pause = min(pause * 2, 1.0)
            else:
                self._run_one_by_one(batch)
                return
        for write in batch:
            text = f"the database went away and did not come back: {lost.error}"
            write.error = OutcomeUnknown(text) if write.rerun else StoreUnavailable(text)
        self._settle(batch)

    def _settle(self, batch: list[Write]) -> None:
        """Acknowledge: one call per loop, then tell the feeds."""
        recorded = [entry for write in batch if write.error is None for entry in write.recorded]
        self._count(batch, len(recorded))
        by_loop: dict[asyncio.AbstractEventLoop, list[Write]] = {}
        for write in batch:
            by_loop.setdefault(write.loop, []).append(write)
        for loop, writes in by_loop.items():
            try:
                loop.call_soon_threadsafe(self._answer, writes)
            except RuntimeError:  # the loop was closed; its callers are gone
                self.waiting -= len(writes)
        if recorded:
            self._published(recorded)

    def _count(self, batch: list[Write], events: int) -> None:
        self.tally.events += events
        for write in batch:
            if isinstance(write.error, HoldfastError) and write.error.status >= 500:
                self.tally.failed(write.error.code)

    def _answer(self, writes: list[Write]) -> None:
        self.waiting -= len(writes)
        for write in writes:
            if write.future.done():
                continue
            if write.error is not None:
                write.future.set_exception(write.error)
            else:
                write.future.set_result(write.result)

    def _refuse_rest(self, pending: deque[Write]) -> None:
        """Nobody may wait for ever on a lane that has ended."""
        self._ended = True
        left = [*self._in_hand, *pending]
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
            if item is not None:
                left.append(item)
        for write in left:
            unsure = write in self._in_hand
            text = self.failure.message if self.failure else "the store is closing"
            write.error = OutcomeUnknown(text) if unsure else Closing(text)
        if left:
            self._settle(left)
