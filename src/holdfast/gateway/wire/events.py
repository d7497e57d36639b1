"""The log as people read it, on the wire: all events, and the user's prompts to jump from one to the next."""

from msgspec import Raw, Struct

from holdfast.core import Event
from holdfast.core.clock import to_iso
from holdfast.gateway.wire.queries import DamagedEvent
from holdfast.gateway.wire.sessions import WindowCursor, details
from holdfast.gateway.wire.types import Seq, Time

MOST_DETAILS = 64 * 1024
MOST_PROMPT = 200


class EventView(Struct, rename="camel", omit_defaults=True):
    """An event of the log, the store's own too. Of an erased one the details are null, and `erased` is their SHA-256.

    Details that are too large for a page are null as well, and `detailsBytes` is their size.
    """

    seq: Seq
    event_id: str
    type: str
    details: Raw
    timestamp: Time
    hash: str
    parent_id: str | None = None
    idempotency_key: str | None = None
    erased: str | None = None
    details_bytes: int | None = None


class EventWindow(Struct):
    """Events, oldest first; `damaged` names those that are not what was written, and so are not shown."""

    events: list[EventView]
    cursor: WindowCursor
    damaged: list[DamagedEvent]


class Prompt(Struct):
    """A user's message, in one line."""

    seq: Seq
    text: str
    timestamp: Time


class PromptWindow(Struct):
    """A user's messages, oldest first."""

    prompts: list[Prompt]
    cursor: WindowCursor


def event_view(event: Event, *, whole: bool) -> EventView:
    """The event as clients see it: `whole`, or without details that are too large for a page."""
    large = len(event.payload) > MOST_DETAILS and not whole
    return EventView(
        event.seq,
        event.event_id,
        event.type,
        Raw(b"null") if large else details(event),
        to_iso(event.created_at),
        event.hash.hex(),
        event.parent_id,
        event.idempotency_key,
        event.erased.hex() if event.erased is not None else None,
        len(event.payload) if large else None,
    )
