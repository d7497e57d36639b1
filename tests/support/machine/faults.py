"""An engine that breaks at the call that a plan names: before it, after it, at a commit too.

The breakage is real where the engine has something to break: a PostgreSQL connection is closed, and what SQLite had not
committed is rolled back. What the lane sees is the same on both engines, so that both must come to the same outcome.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from holdfast.core import HoldfastError
from holdfast.core.errors import Busy
from holdfast.store.engine import Damage, DecidedBodies, Engine, RecordedEvent, Row, Tx, Writer
from holdfast.store.text.word_index import ASK_SCRUB


class Kind(Enum):
    """What happens at a call."""

    LOST_BEFORE = "the connection is lost, and the call not made"
    LOST_AFTER = "the call is made, and the connection lost before its answer came"
    REFUSED = "the database refuses the call, and goes on"
    WARNED = "a commit is made, and the server warns; any other call is refused"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at the call with this number, counted from the last fault or the beginning of the step.

    With `commits`, only commits are counted: most of what can go wrong goes wrong there.
    """

    at: int
    kind: Kind
    commits: bool = False


class Injected(Exception):
    """What the database would have raised."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage.value)
        self.damage = damage


@dataclass(slots=True)
class Faults:
    """The faults of the step that is being run, and how many have come about in all."""

    ahead: deque[Fault] = field(default_factory=deque)
    calls: int = 0
    met: int = 0

    def arm(self, faults: Iterable[Fault]) -> None:
        """Let these come about from now on, and no others."""
        self.ahead = deque(faults)
        self.calls = 0

    def next(self, *, commits: bool) -> Kind | None:
        """What happens at this call."""
        if not self.ahead or (self.ahead[0].commits and not commits):
            return None
        number, self.calls = self.calls, self.calls + 1
        if self.ahead[0].at != number:
            return None
        self.calls = 0
        self.met += 1
        return self.ahead.popleft().kind


@dataclass(slots=True)
class BrokenTx:
    """A transaction that breaks."""

    inner: Tx
    meet: Callable[[Callable[[], Any]], Any]

    @property
    def rerun(self) -> bool:
        return self.inner.rerun

    @rerun.setter
    def rerun(self, value: bool) -> None:
        self.inner.rerun = value

    @property
    def recorded(self) -> list[RecordedEvent]:
        return self.inner.recorded

    @recorded.setter
    def recorded(self, value: list[RecordedEvent]) -> None:
        self.inner.recorded = value

    @property
    def history(self) -> str:
        return self.inner.history

    @property
    def changed(self) -> bool:
        return self.inner.changed

    @changed.setter
    def changed(self, value: bool) -> None:
        self.inner.changed = value

    @property
    def decided(self) -> DecidedBodies:
        return self.inner.decided

    @decided.setter
    def decided(self, value: DecidedBodies) -> None:
        self.inner.decided = value

    def one(self, sql: str, *args: Any) -> Row | None:
        found: Row | None = self.meet(lambda: self.inner.one(sql, *args))
        return found

    def all(self, sql: str, *args: Any) -> list[Row]:
        found: list[Row] = self.meet(lambda: self.inner.all(sql, *args))
        return found

    def run(self, sql: str, *args: Any) -> None:
        if sql == ASK_SCRUB:  # only SQLite has this call: it would put the two out of step
            self.inner.run(sql, *args)
            return
        self.meet(lambda: self.inner.run(sql, *args))

    def run_together(self, *changes: tuple[str, Sequence[Any]]) -> None:
        self.meet(lambda: self.inner.run_together(*changes))

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.meet(lambda: self.inner.run_many(sql, rows))

    def now(self) -> int:
        return int(self.meet(self.inner.now))

    def lock(self, name: str) -> None:
        self.meet(lambda: self.inner.lock(name))

    def try_lock(self, name: str) -> bool:
        return bool(self.meet(lambda: self.inner.try_lock(name)))

    def leave_no_trace(self) -> None:
        self.inner.leave_no_trace()


class BrokenWriter:
    """A lane's connection that breaks."""

    def __init__(self, inner: Writer, faults: Faults) -> None:
        self.errors = (*inner.errors, Injected)
        self._inner = inner
        self._faults = faults

    @property
    def history(self) -> str:
        return self._inner.history

    def begin(self, locks: Sequence[str], *, cautious: bool, makes_room: bool) -> Tx:
        inner = self._meet(lambda: self._inner.begin(locks, cautious=cautious, makes_room=makes_room))
        return BrokenTx(inner, self._meet)

    def savepoint(self) -> None:
        self._meet(self._inner.savepoint)

    def release(self) -> None:
        self._meet(self._inner.release)

    def undo(self) -> None:
        self._meet(self._inner.undo)

    def commit(self) -> None:
        self._meet(self._inner.commit, commits=True)

    def rollback(self) -> None:
        self._inner.rollback()

    def damage(self, error: Exception, *, committing: bool) -> Damage:
        return error.damage if isinstance(error, Injected) else self._inner.damage(error, committing=committing)

    def explain(self, error: Exception) -> HoldfastError:
        return Busy("injected", retry_after=1) if isinstance(error, Injected) else self._inner.explain(error)

    def reconnect(self) -> None:
        self._inner.reconnect()

    def rest(self, *, idle: bool) -> None:
        self._inner.rest(idle=idle)

    def close(self) -> None:
        self._inner.close()

    def _meet(self, call: Callable[[], Any], *, commits: bool = False) -> Any:
        """Make the call, or have happen to it what the plan says."""
        kind = self._faults.next(commits=commits)
        if kind is Kind.LOST_BEFORE:
            self._break()
            raise Injected(Damage.DISCONNECTED)
        if kind is Kind.REFUSED or (kind is Kind.WARNED and not commits):
            raise Injected(Damage.NONE)
        result = call()
        if kind is Kind.LOST_AFTER:
            self._break()
            raise Injected(Damage.DISCONNECTED)
        if kind is Kind.WARNED:
            raise Injected(Damage.UNSURE)
        return result

    def _break(self) -> None:
        connection = getattr(self._inner, "_connection", None)
        if hasattr(connection, "pgconn"):
            connection.close()  # type: ignore[union-attr]
        else:
            self._inner.rollback()


class BrokenEngine:
    """An engine whose writers break; all else is the engine's own."""

    def __init__(self, inner: Engine, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    def writer(self) -> Writer:
        return BrokenWriter(self._inner.writer(), self._faults)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
