"""What the parts of a store share: its tenant, its way to write and read, its clock and ids, its tuning."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from holdfast.core import Clock, IdSource, NewEvent
from holdfast.core.event_bodies import EventBody
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.prepare import PreparedEvent, check_key, prepare
from holdfast.store.tuning import StoreTuning

Result = TypeVar("Result")


class Workers(Protocol):
    """The lanes and readers of an open store."""

    def write(
        self, run: Callable[[Tx], Result], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Awaitable[Result]:
        """Run a write on the lane of the first lock; its result once it is durable.

        A write that makes room (a deletion) may go on when others are refused for want of it.
        """
        ...

    def read(self, run: Callable[[Tx], Result], length: ReadLength = ReadLength.LONG) -> Awaitable[Result]:
        """Run a read over one snapshot; what is longer than `length` says keeps others of that length waiting."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """One idea of the store, for one tenant."""

    tenant: str
    workers: Workers
    clock: Clock
    ids: IdSource
    tuning: StoreTuning

    def lock(self, session_id: str) -> str:
        """The name that writers of this session lock."""
        return session_lock(self.tenant, session_id)

    def write(
        self, session_id: str, run: Callable[[Tx], Result], weight: int = 1, *, makes_room: bool = False
    ) -> Awaitable[Result]:
        """Run a write that touches one session."""
        return self.workers.write(run, (self.lock(session_id),), weight, makes_room=makes_room)

    def own_event(self, body: EventBody, idempotency_key: str | None = None) -> PreparedEvent:
        """One of Holdfast's own events, ready to append, with a key that the caller chose."""
        check_key(idempotency_key)
        event = NewEvent(body.TYPE, body, idempotency_key=idempotency_key)
        return prepare(event, self.clock, self.ids, reserved=True)

    def own_draft(self, body: type[EventBody], idempotency_key: str | None = None) -> PreparedEvent:
        """One of Holdfast's own events that gets its body inside the write, by `with_body`."""
        check_key(idempotency_key)
        event = NewEvent(body.TYPE, {}, idempotency_key=idempotency_key)
        return prepare(event, self.clock, self.ids, reserved=True)


def session_lock(tenant: str, session_id: str) -> str:
    """The name that writers of a session lock."""
    return f"session\0{tenant}\0{session_id}"


def key_lock(tenant: str, key: str) -> str:
    """The name that writers of a session key lock."""
    return f"key\0{tenant}\0{key}"
