"""A lane: a thread with one connection that runs writes and commits them in groups.

A caller's write is acknowledged only after the commit that holds it (`group`). When a group was taken back or its
connection lost, its members run again one by one (`write_retries`). A cancelled caller gives up waiting, not the
write. After a failed fsync, when the database stays away, or when another server has taken the store over, the lane
says so and acknowledges nothing more. While nobody comes it does its chores, a step at a time, so that a write waits
for one step at most.
"""

import asyncio
import contextlib
import copy
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from holdfast.core.errors import Busy, Closing, HoldfastError, OutcomeUnknown, StoreFailed
from holdfast.store.engine import DecidedBodies, RecordedEvent, Tx, Writer
from holdfast.store.lanes.chores import MAKES_ROOM, Chore, Chores
from holdfast.store.lanes.group import ConnectionLost, GroupFreed, Groups, QueuedWrite
from holdfast.store.lanes.lane_counts import LaneCounts
from holdfast.store.lanes.write_retries import WriteRetries
from holdfast.store.log.body_pairs import UndecidedBodies
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

MAX_WRITES = 256
MAX_WEIGHT = 2_000
MAX_QUEUED = 10_000
SLOW_COMMIT_SECONDS = 0.001
MAX_GATHER_SECONDS = 0.005
LONG_GROUP_SECONDS = 0.020

log = logging.getLogger("holdfast.store")


class Lane:
    """Runs writes in the order they came; see the module's contract."""

    def __init__(
        self,
        name: str,
        writer: Writer,
        published: Callable[[list[RecordedEvent]], None],
        decide: Callable[[UndecidedBodies], Awaitable[DecidedBodies]],
        chores: Sequence[Chore] = (),
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self.waiting = 0
        self._writer = writer
        self._groups = Groups(writer, tuning)
        self._retries = WriteRetries(self._groups, self._settle, lambda: self._closing)
        self._published = published
        self._decide = decide
        self._tuning = tuning
        self._chores = Chores(chores)
        self._queue: SimpleQueue[QueuedWrite | None] = SimpleQueue()
        self._closing = False
        self._ended = False
        self._next_chore = 0.0
        self._rest_due = False
        self._in_hand: list[QueuedWrite] = []
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def commits(self) -> int:
        """How many transactions it has committed."""
        return self._groups.commits

    @property
    def counts(self) -> LaneCounts:
        """What it has done since it began."""
        return self._groups.counts

    @property
    def failure(self) -> HoldfastError | None:
        """Why it acknowledges nothing more, or None."""
        return self._groups.failure

    async def submit(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        """The write's result, once it is durable; one that makes room may go on when others are refused."""
        loop = asyncio.get_running_loop()
        write = QueuedWrite(run, locks, weight, makes_room, loop, loop.create_future())
        try:
            while True:
                try:
                    return await self._queued(write)
                except UndecidedBodies as undecided:
                    bodies = undecided
                decided = await self._found_out(write, bodies)
                write = replace(write, future=loop.create_future(), error=None, decided=write.decided | decided)
        finally:
            del write  # a refusal's trace leads here: it must not keep the write, payload and all, that keeps it

    def _queued(self, write: QueuedWrite) -> asyncio.Future[Any]:
        """What a write's outcome comes by, once it waits for its turn."""
        if self.failure is not None:
            raise copy.copy(self.failure)
        if self._closing:
            raise Closing("the store is closing")
        if self.waiting >= MAX_QUEUED:
            raise Busy(f"{self.waiting} writes are waiting already", retry_after=1)
        self.waiting += 1
        self._queue.put(write)
        if self._ended:
            raise self.failure or Closing("the store is closing")
        return write.future

    async def _found_out(self, write: QueuedWrite, bodies: UndecidedBodies) -> DecidedBodies:
        """Which bodies are the same; what prevents that is the write's error."""
        try:
            return await self._decide(bodies)
        except HoldfastError as error:
            write.fail(error)
            raise write.error or error from None

    def take_no_more(self) -> None:
        """Refuse new writes, and try no longer to reach a database that has gone."""
        self._closing = True

    def close(self) -> None:
        """Finish what is queued, then end the thread and its connection. Blocks."""
        self._closing = True
        self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        pending: deque[QueuedWrite] = deque()
        stop = False
        try:
            self._do_chores()
            while pending or self._retries.suspects or not stop:
                self._gather()
                stop = self._fill(pending) or stop
                batch = self._next_batch(pending)
                if batch:
                    self._in_hand = batch
                    began = time.monotonic()
                    self._process(batch, pending)
                    self._in_hand = []
                    if self._may_rest(time.monotonic() - began, pending):
                        self._rest(idle=False)
                        self._do_one_chore_in_a_while()
                if self._retries.suspects:
                    self._in_hand = [self._retries.suspects[0]]
                    self._retries.try_suspect()
                    self._in_hand = []
        except BaseException as error:
            log.critical("a lane of the store died", exc_info=error)
            self._groups.failure = self.failure or StoreFailed(f"a lane of the store died: {error!r}")
        finally:
            self._refuse_rest(pending)
            self._writer.close()

    def _may_rest(self, seconds: float, pending: deque[QueuedWrite]) -> bool:
        """Whether now is the time to keep house: whoever waited for a long group does not wait for that as well."""
        self._rest_due = seconds > LONG_GROUP_SECONDS and bool(pending or self._queue.qsize()) and not self._rest_due
        return not self._rest_due

    def _gather(self) -> None:
        """On a slow disk, let those who were just answered come back: a fuller group costs the same sync."""
        seconds, answered = self._groups.commit_seconds, self._groups.last_size
        if seconds < SLOW_COMMIT_SECONDS or answered < 2:
            return
        deadline = time.monotonic() + min(seconds / 2, MAX_GATHER_SECONDS)
        while self._queue.qsize() < answered and time.monotonic() < deadline:
            time.sleep(0.0002)

    def _fill(self, pending: deque[QueuedWrite]) -> bool:
        """Move what is queued to `pending`, waiting if there is nothing at all; True at the end of the queue."""
        try:
            item = self._queue.get_nowait() if pending or self._retries.suspects else self._wait()
            while True:
                if item is None:
                    return True
                pending.append(item)
                if len(pending) >= MAX_WRITES:
                    return False
                item = self._queue.get_nowait()
        except Empty:
            return False

    def _wait(self) -> QueuedWrite | None:
        """The next write, or the end; chores and house-keeping once nobody has come for a while, and now and then."""
        seconds = self._tuning.idle_seconds
        while True:
            try:
                return self._queue.get(timeout=seconds)
            except Empty:
                self._do_chores()
                self._rest(idle=True)
                seconds = self._tuning.look_seconds

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
        self._next_chore = now + self._tuning.busy_chore_seconds
        self._chores.look()
        chore = self._chores.next()
        if chore is not None:
            self._do(chore)

    def _do(self, chore: Chore) -> None:
        """One step of a chore; a step that changed nothing costs nothing, and trouble takes back that step alone."""
        writer = self._writer
        recorded: list[RecordedEvent] = []
        committing = False
        tx: Tx | None = None
        try:
            tx = writer.begin((), cautious=True, makes_room=getattr(chore, MAKES_ROOM, False))
            tx.recorded, tx.rerun, tx.changed = recorded, False, False
            more = chore(tx)
            if tx.changed:
                committing = True
                writer.commit()
                self._groups.commits += 1
            else:
                writer.rollback()
        except writer.errors as error:
            self._chores.failed(chore, error)
            self._end_failed_step(error, committing=committing)
        except Exception as error:
            writer.rollback()
            self._groups.note_failure(error)
            if tx is not None:  # else room is short, which the engine says itself
                self._chores.failed(chore, error)
        else:
            self._chores.went_well(chore, more=more and committing)
            if recorded and committing:
                self.counts.events += len(recorded)
                self._published(recorded)

    def _end_failed_step(self, error: Exception, *, committing: bool) -> None:
        try:
            self._groups.after_error(error, committing=committing)
        except GroupFreed:
            pass  # the next look tries it again
        except ConnectionLost:
            with contextlib.suppress(HoldfastError, *self._writer.errors):
                self._writer.reconnect()  # once: the next write, or the next look, goes on trying

    def _next_batch(self, pending: deque[QueuedWrite]) -> list[QueuedWrite]:
        """The writes of one group, all of the same kind: room made and room needed are not mixed."""
        batch: list[QueuedWrite] = []
        weight = 0
        while pending and len(batch) < MAX_WRITES:
            write = pending[0]
            if batch and (weight + write.weight > MAX_WEIGHT or write.makes_room != batch[0].makes_room):
                break
            weight += write.weight
            batch.append(pending.popleft())
        return batch

    def _process(self, batch: list[QueuedWrite], pending: deque[QueuedWrite]) -> None:
        if self.failure is not None:
            self._refuse(batch, self.failure)
            return
        try:
            done = self._groups.commit(batch)
            pending.extendleft(reversed(batch[done:]))
            self._settle(batch[:done])
        except ConnectionLost as lost:
            self._retries.after_loss(batch, lost)
        except GroupFreed:
            self._retries.run_each(batch)
        except HoldfastError as refusal:
            self._groups.note_failure(refusal)
            self._refuse(batch, refusal)
        except self._writer.errors as error:
            if len(batch) == 1 and self.failure is None:
                self._refuse(batch, self._writer.explain(error))
            else:
                self._retries.run_each(batch)

    def _refuse(self, batch: Sequence[QueuedWrite], error: HoldfastError) -> None:
        for write in batch:
            write.fail(copy.copy(error))
        self._settle(batch)

    def _rest(self, *, idle: bool) -> None:
        try:
            self._writer.rest(idle=idle)
        except HoldfastError as error:
            self._groups.note_failure(error)
        except self._writer.errors as error:
            self._groups.after_error(error, committing=True)

    def _settle(self, batch: Sequence[QueuedWrite]) -> None:
        """Acknowledge: one call per loop, then tell the feeds."""
        recorded = [entry for write in batch for entry in write.recorded]
        self._count(batch, len(recorded))
        by_loop: dict[asyncio.AbstractEventLoop, list[QueuedWrite]] = {}
        for write in batch:
            by_loop.setdefault(write.loop, []).append(write)
        for loop, writes in by_loop.items():
            try:
                loop.call_soon_threadsafe(self._answer, writes)
            except RuntimeError:  # the loop was closed; its callers are gone
                self.waiting -= len(writes)
        if recorded:
            self._published(recorded)

    def _count(self, batch: Sequence[QueuedWrite], events: int) -> None:
        self.counts.events += events
        for write in batch:
            if isinstance(write.error, HoldfastError) and write.error.status >= 500:
                self.counts.failed(write.error.code)

    def _answer(self, writes: list[QueuedWrite]) -> None:
        self.waiting -= len(writes)
        for write in writes:
            if write.future.done():
                continue
            if write.error is not None:
                write.future.set_exception(write.error)
            else:
                write.future.set_result(write.result)

    def _refuse_rest(self, pending: deque[QueuedWrite]) -> None:
        """Nobody may wait for ever on a lane that has ended."""
        self._ended = True
        left = list(dict.fromkeys([*self._in_hand, *self._retries.suspects, *pending]))
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
            write.fail(OutcomeUnknown(text) if unsure else Closing(text))
        if left:
            self._settle(left)
