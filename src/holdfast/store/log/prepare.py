"""An event on its way in: checked, and completed with what its caller left out.

Ids and times are drawn here, before the write runs, so that every run of the write appends the same event.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from holdfast.core import Clock, IdSource, NewEvent, strict_json, types
from holdfast.core.errors import InvalidInput, TooLarge
from holdfast.core.event_bodies import EventBody
from holdfast.core.ids import check_name, draw_ids

MAX_EVENTS = 10_000
LAST_MS = 253_402_300_799_999  # the end of the year 9999: what ISO 8601 can say
MAX_PAYLOAD = 16 * 1024 * 1024
FOR_EVENTS = "keep large things as events or attachments, and their names here"


class PreparedEvent(NamedTuple):
    """An event checked and completed on the caller's side, so that every run of its write appends the same."""

    event_id: str
    type: str
    payload: bytes
    created_at: int
    parent_id: str | None
    idempotency_key: str | None
    named: bool
    """Whether the caller chose the event id: only then can it be there already."""


def prepare(event: NewEvent, clock: Clock, ids: IdSource, *, reserved: bool = False) -> PreparedEvent:
    """Check an event and draw what it lacks; InvalidInput, InvalidJson or TooLarge."""
    return _completed(event, check(event, reserved=reserved), event.event_id or ids(), clock)


def _completed(event: NewEvent, payload: bytes, event_id: str, clock: Clock) -> PreparedEvent:
    return PreparedEvent(
        event_id,
        event.type,
        payload,
        clock.now() if event.created_at is None else event.created_at,
        event.parent_id,
        event.idempotency_key,
        event.event_id is not None,
    )


def check(event: NewEvent, *, reserved: bool = False) -> bytes:
    """The bytes of an event's payload, if the event can be appended; InvalidInput, InvalidJson or TooLarge."""
    kind, key = check_name(event.type, "an event's type"), event.idempotency_key
    if not reserved:
        if kind.startswith(types.PREFIX) and kind != types.RESPONSE:
            raise InvalidInput(f"event types that start with {types.PREFIX!r} are Holdfast's own", event_type=kind)
        check_key(key)
    if event.event_id is not None:
        check_name(event.event_id, "an event id")
    if key is not None:
        check_name(key, "an idempotency key")
    if event.parent_id is not None:
        check_name(event.parent_id, "a parent id")
    payload = strict_json.check(event.payload) if isinstance(event.payload, bytes) else strict_json.dump(event.payload)
    _check_size(payload)
    if event.created_at is not None:
        _checked_time(event.created_at)
    return payload


def at_time(draft: PreparedEvent, created_at: int | None) -> PreparedEvent:
    """The event with the time that is given for it, if one is; InvalidInput if that is no time."""
    return draft if created_at is None else draft._replace(created_at=_checked_time(created_at))


def with_body(draft: PreparedEvent, body: EventBody) -> PreparedEvent:
    """The event with a body that is only known inside the write; InvalidJson or TooLarge."""
    payload = strict_json.dump(body)
    _check_size(payload)
    return draft._replace(type=body.TYPE, payload=payload)


def check_key(idempotency_key: str | None) -> None:
    """InvalidInput if a caller's key is one of those that Holdfast uses itself."""
    if isinstance(idempotency_key, str) and idempotency_key.startswith(types.PREFIX):
        raise InvalidInput(f"idempotency keys that start with {types.PREFIX!r} are Holdfast's own")


def check_most(value: Any, limit: int, what: str, hint: str = FOR_EVENTS) -> None:
    """TooLarge if a JSON value has more bytes than it may."""
    size = len(strict_json.dump(value))
    if size > limit:
        raise TooLarge(f"{what} of {size} bytes", hint=hint, limit=limit)


def prepare_all(events: Iterable[NewEvent], clock: Clock, ids: IdSource) -> tuple[PreparedEvent, ...]:
    """Check a batch; InvalidInput if it is empty, TooLarge if it is too long for one write."""
    given = list(events)
    payloads = [check(event) for event in given]
    if not given:
        raise InvalidInput("there is nothing to append")
    if len(given) > MAX_EVENTS:
        raise TooLarge(f"{len(given)} events in one append", limit=MAX_EVENTS)
    drawn = iter(draw_ids(ids, sum(not event.event_id for event in given)))
    return tuple(
        _completed(event, payload, event.event_id or next(drawn), clock)
        for event, payload in zip(given, payloads, strict=True)
    )


def _checked_time(created_at: int) -> int:
    if isinstance(created_at, bool) or not isinstance(created_at, int) or not 0 <= created_at <= LAST_MS:
        raise InvalidInput(f"a time must be milliseconds from 1970 to 9999, not {created_at!r:.80}")
    return created_at


def _check_size(payload: bytes) -> None:
    if len(payload) > MAX_PAYLOAD:
        raise TooLarge(f"an event's payload of {len(payload)} bytes", limit=MAX_PAYLOAD)
