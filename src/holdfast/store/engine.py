"""What a database must supply so that the rest of the store is written once.

A write is a plain function over a Tx. It names beforehand the sessions it touches, never catches a database error,
and may be run more than once. SQL is shared by both engines and uses `?1, ?2` placeholders.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from holdfast.core import Event, HoldfastError
from holdfast.store.log.prepare import PreparedEvent
from holdfast.store.text.tokenizer import Query

Row = tuple[Any, ...]
DecidedBodies = dict[tuple[Any, bytes], bool]
"""Whether two bodies are the same value, by names of both: what was found out for a write before it runs again."""
Seen = tuple[str, int]
"""A history of a database server: the cluster's name, and a number that is larger for a later one."""


class RecordedEvent(NamedTuple):
    """An event that a write appended, and its session: what live feeds are told after the commit."""

    tenant: str
    session_id: str
    seq: int
    hash: bytes
    prepared: PreparedEvent

    def event(self) -> Event:
        """The event as a read would give it."""
        given = self.prepared
        return Event(
            self.seq,
            given.event_id,
            given.type,
            given.payload,
            given.created_at,
            self.hash,
            given.parent_id,
            given.idempotency_key,
        )


class FeedOrder(NamedTuple):
    """How an engine orders the whole-store feed, as SQL."""

    cursor: str
    """Two integer columns that place an event."""
    after: str
    """The condition that an event comes after the cursor ?1, ?2 and nothing can still slip in before it."""
    order: str
    end: str
    """The cursor of the last event that nothing can slip in before any more, if there is any."""
    ahead: str
    """Whether the cursor ?1, ?2 is of no event that there ever was."""
    heads: str | None
    """The snapshot's name and, of each session with events that were not there yet in the snapshot ?1 (NULL: of none),
    tenant, id and newest seq: one row at least. None if no event that can be seen is ever held back."""


class TextSql(NamedTuple):
    """How an engine keeps and finds words, as SQL and as the languages of its full text."""

    place: str
    """An event's place as the columns epoch, major and pos."""
    after: str
    """The condition that an event comes after the place ?1, ?2, ?3 and is not indexed yet."""
    between: str
    """The condition that an event comes after the place ?1, ?2, ?3, and not after ?4, ?5, ?6."""
    order: str
    safe: str
    """The place of the last event that nothing can slip in before any more."""
    newest: str
    """The place of the last event that can be seen."""
    matches: str
    """The condition that the row `t` has what the query ?1 asks for."""
    document: Callable[[Sequence[str], Sequence[str]], str]
    """Words in their places, and scopes beside them, as they are stored."""
    query: Callable[[Query, str], str]
    """A query within a scope."""
    merge: str | None
    """Rewrite ?1 pages of an index without its deleted words; None if the engine does so by itself."""


class Tx(Protocol):
    """One open transaction."""

    rerun: bool
    """Whether an earlier run of this write may have been committed; a write that finds that it was not says so here."""
    recorded: list[RecordedEvent]
    """The events this write has appended; dropped when it is rolled back."""
    changed: bool
    """Whether this write has changed anything yet."""
    decided: DecidedBodies
    """What was found out for this write since it ran last."""

    @property
    def history(self) -> str:
        """Names the order of events that this transaction sees: cursors of another one mean nothing here."""
        ...

    def one(self, sql: str, *args: Any) -> Row | None:
        """The first row, or None; for statements that change nothing."""
        ...

    def all(self, sql: str, *args: Any) -> list[Row]:
        """Every row; for statements that change nothing."""
        ...

    def run(self, sql: str, *args: Any) -> None:
        """Change rows; nothing comes back."""
        ...

    def run_together(self, *changes: tuple[str, Sequence[Any]]) -> None:
        """Changes, as statement and arguments, of which none reads what another writes: one trip where that helps."""
        ...

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same statement for each row of arguments."""
        ...

    def now(self) -> int:
        """The time that leases are measured by: the same for every process that shares the store."""
        ...

    def lock(self, name: str) -> None:
        """Keep others that share the store from locking this name until the transaction ends; waits for them."""
        ...

    def try_lock(self, name: str) -> bool:
        """The same without waiting; False if another transaction has it."""
        ...

    def leave_no_trace(self) -> None:
        """Once this is committed, see to it that what it removed is gone from the engine's own files too."""
        ...


class Damage(Enum):
    """What a database error means for the writes of the transaction it happened in."""

    NONE = "nothing was written, and the connection goes on"
    FREED = "nothing was written, and what was in the way is there no more: run it again"
    DISCONNECTED = "the connection is gone; what was not yet committed was not written"
    FROZEN = "the same, because this process stood still in the middle and others could not wait"
    UNSURE = "it was committed, and the server warned that this may not last; the connection goes on"
    FATAL = "durability can no longer be promised: stop acknowledging"


class Writer(Protocol):
    """A lane's connection. Every method is called from the lane's thread."""

    errors: tuple[type[Exception], ...]
    """What the database raises."""

    @property
    def history(self) -> str:
        """Names the order of events that its writes belong to."""
        ...

    def begin(self, locks: Sequence[str], *, cautious: bool, makes_room: bool) -> Tx:
        """Open a transaction and lock these names; cautious: report an error at the statement that made it.

        When room is short, only a group that makes room is let in; the others get the HoldfastError raised here.
        """
        ...

    def savepoint(self) -> None:
        """Mark the place that `undo` returns to."""
        ...

    def release(self) -> None:
        """Keep what was done since the savepoint."""
        ...

    def undo(self) -> None:
        """Take back what was done since the savepoint."""
        ...

    def commit(self) -> None:
        """Return once everything since `begin` is durable."""
        ...

    def rollback(self) -> None:
        """Take back everything since `begin`; never raises a database error."""
        ...

    def damage(self, error: Exception, *, committing: bool) -> Damage:
        """What this error means."""
        ...

    def explain(self, error: Exception) -> HoldfastError:
        """The error as a caller should see it."""
        ...

    def reconnect(self) -> None:
        """Replace a lost connection; raises a database error while that fails."""
        ...

    def rest(self, *, idle: bool) -> None:
        """Called after each batch, and once when nobody has come for a while: house-keeping such as checkpoints."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class Reader(Protocol):
    """A reading thread's connection."""

    errors: tuple[type[Exception], ...]

    def snapshot(self, fn: Callable[[Tx], Any], gone: Callable[[], bool]) -> Any:
        """Run `fn` over one consistent, read-only view of the store, for no longer than a read may last.

        Once `gone` says that nobody waits for it, the next thing that `fn` asks the database raises a database error.
        """
        ...

    def interrupt(self) -> None:
        """End the statement that a snapshot runs now, if any, from another thread; may block for a moment."""
        ...

    def explain(self, error: Exception) -> HoldfastError:
        """The error as a caller should see it."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class Database(Protocol):
    """What outsiders are told of the database behind a store."""

    name: str
    version: str
    url: str
    """Without a password."""

    def seen(self) -> Seen | None:
        """The newest history of the server that this process knows of; None if the store has no server."""
        ...

    def figures(self) -> dict[str, Any]:
        """Sizes and settings for status pages."""
        ...


class Engine(Database, Protocol):
    """One database, open and migrated."""

    store_id: str
    lanes: int
    feed_order: FeedOrder
    moment_sql: str | None
    """The moment of a snapshot (see `feed.commit_versions`); None if `moment` tells it."""
    text: TextSql
    chores: tuple[Callable[[Tx], bool], ...]
    """What the engine's own files need now and then."""

    def writer(self) -> Writer:
        """A connection for a lane, made at the latest when it is first used."""
        ...

    def reader(self) -> Reader:
        """A connection for reads, made at the latest when it is first used."""
        ...

    def moment(self) -> str | None:
        """The moment (see `feed.commit_versions`), told at once and on any thread; None if only a snapshot can tell."""
        ...

    def announce(self) -> None:
        """Tell other processes that something was committed; a hint, sent soon, never waited for."""
        ...

    def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard`, from any thread, when another process has announced a commit."""
        ...

    def check(self, within: float | None = None) -> list[str]:
        """What the engine itself finds wrong with its files; empty is good.

        With a number of seconds, what a quicker look finds; ReadTimeout if even that takes longer.
        """
        ...

    def copy_to(self, path: Path, told: Callable[[int, int], None]) -> None:
        """Copy the store, as it is at one moment, to a new or empty file; blocks, and tells how far it is."""
        ...

    def let_go(self) -> None:
        """Wait for the database no longer: whoever waits gets an error soon. For a stop that has taken too long."""
        ...

    def close(self) -> None:
        """Release everything; the writers and readers are closed already."""
        ...
