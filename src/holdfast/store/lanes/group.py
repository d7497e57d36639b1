"""A group of writes: run in one transaction and committed together.

One write's refusal takes back that write alone; a database error takes back the group. A write that was in a
transaction whose COMMIT got no answer may have been committed: it is a `rerun` from then on, until a later run knows
that the earlier one is not there.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.core.errors import HoldfastError, OutcomeUnknown, StoreFailed, StoreInUse
from holdfast.store.engine import Damage, DecidedBodies, RecordedEvent, Tx, Writer
from holdfast.store.lanes.lane_counts import LaneCounts
from holdfast.store.log.body_pairs import UndecidedBodies
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

log = logging.getLogger("holdfast.store")


@dataclass(slots=True, eq=False)
class QueuedWrite:
    """One caller's write on its way through a lane."""

    run: Callable[[Tx], Any]
    locks: Sequence[str]
    weight: int
    makes_room: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    rerun: bool = False
    losses: int = 0
    """How often its connection was lost while it ran alone."""
    result: Any = None
    error: BaseException | None = None
    recorded: list[RecordedEvent] = field(default_factory=list)
    """The events of it that are in the log."""
    decided: DecidedBodies = field(default_factory=dict)
    """What was found out for it elsewhere."""

    def fail(self, error: BaseException) -> None:
        """Answer with this error; an earlier run that may have been committed makes it OutcomeUnknown."""
        if self.rerun and not isinstance(error, (OutcomeUnknown, UndecidedBodies)):
            unknown = OutcomeUnknown(f"the connection was lost while this was committed, and then: {error}")
            unknown.__cause__ = error
            error = unknown
        self.error, self.recorded = error, []


class ConnectionLost(Exception):
    """The connection went. Those of the group that may have been committed are reruns now.

    `frozen` if that was because this process stood still in the middle, and others could not wait for it.
    """

    def __init__(self, error: Exception, *, frozen: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.frozen = frozen


class GroupFreed(Exception):
    """The group was taken back, and what was in its way is there no more."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _Spoiled(Exception):
    """A write was refused after it had changed something: the group must run again with savepoints."""


class Groups:
    """Commits groups through one writer, and knows why the store can acknowledge nothing more."""

    def __init__(self, writer: Writer, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self.writer = writer
        self._tuning = tuning
        self.counts = LaneCounts()
        self.commits = 0
        self.failure: HoldfastError | None = None
        self.commit_seconds = 0.0
        self.last_size = 0
        """How many writes the last commit held."""

    def commit(self, batch: list[QueuedWrite], *, cautious: bool = False, guarded: bool = False) -> int:
        """Run and commit as many of the batch as fit the time; returns how many that were.

        Savepoints are rarely needed, since nearly every refusal comes before the first change: a group runs without
        them, and once more with them (`guarded`) if a refusal came late.
        """
        writer = self.writer
        locks = batch[0].locks if len(batch) == 1 else [name for write in batch for name in write.locks]
        committing = False
        done = 0
        # Time at work, not time that passed: a lane that waits for the interpreter lock must not commit crumbs.
        deadline = time.thread_time() + self._tuning.group_seconds
        try:
            tx = writer.begin(locks, cautious=cautious, makes_room=batch[0].makes_room)
            if len(batch) == 1:
                if not self.attempt(tx, batch[0]):
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
            self.commit_seconds = time.monotonic() - began
            self.last_size = done
            self.counts.committed(done, self.commit_seconds)
        except _Spoiled:
            writer.rollback()
            return self.commit(batch, guarded=True)
        except writer.errors as error:
            if not self._has_committed(error, batch[:done] if committing else []):
                raise
        self.commits += 1
        return done

    def attempt(self, tx: Tx, write: QueuedWrite) -> bool:
        """Run a write; False if it was refused, for whatever reason but a database error."""
        tx.recorded = write.recorded = []
        tx.rerun, tx.changed, tx.decided, write.error = write.rerun, False, write.decided, None
        try:
            write.result = write.run(tx)
        except self.writer.errors:
            raise
        except Exception as refusal:
            write.rerun = tx.rerun
            write.fail(refusal)
            if isinstance(refusal, HoldfastError):
                refusal.__traceback__ = None  # it was foreseen, and the trace would lead back to the write
            return False
        write.rerun = tx.rerun
        return True

    def after_error(self, error: Exception, *, committing: bool) -> Damage:
        """Take back what was begun, and say what the error means; ConnectionLost if the connection went, GroupFreed if
        it is worth another try."""
        damage = self.writer.damage(error, committing=committing)
        if damage in (Damage.DISCONNECTED, Damage.FROZEN):
            raise ConnectionLost(error, frozen=damage is Damage.FROZEN) from error
        if damage is Damage.FATAL:
            log.critical("the store stops acknowledging: %s", error)
            self.failure = StoreFailed(f"the store has stopped acknowledging: {error}")
        self.writer.rollback()
        if damage is Damage.FREED:
            raise GroupFreed(error) from error
        return damage

    def note_failure(self, error: Exception) -> None:
        """Acknowledge nothing more if the engine says, in its own words, that it cannot go on."""
        if isinstance(error, (StoreFailed, StoreInUse)) and self.failure is None:
            log.critical("the store stops acknowledging: %s", error)
            self.failure = error

    def _has_committed(self, error: Exception, in_commit: list[QueuedWrite]) -> bool:
        """Whether the writes are there in spite of the error, and answered; if their connection went, they may be."""
        try:
            damage = self.after_error(error, committing=bool(in_commit))
        except ConnectionLost:
            for write in in_commit:
                write.rerun = write.rerun or write.error is None
            raise
        if damage is not Damage.UNSURE:
            return False
        for write in in_commit:
            if write.error is None:
                write.error = OutcomeUnknown(f"the database committed this, and warned that it may not last: {error}")
        return True

    def _run_beside_others(self, tx: Tx, write: QueuedWrite, *, guarded: bool) -> None:
        if guarded:
            self.writer.savepoint()
        if self.attempt(tx, write):
            if guarded:
                self.writer.release()
        elif guarded:
            self.writer.undo()
        elif tx.changed:
            raise _Spoiled
