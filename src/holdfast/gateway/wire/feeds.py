"""What followers ask for and get, over a WebSocket or as server-sent events."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from holdfast.gateway.wire.types import Seq


class FeedQuery(Struct):
    """What to follow, and after what; a session's feed is the same whichever user is named."""

    session: Annotated[str | None, Meta(description="one session's events")] = None
    user: Annotated[str | None, Meta(description="the events of this user's sessions")] = None
    after: Annotated[Seq | None, Meta(description="with a session: go on after this seq; from now if left out")] = None
    cursor: Annotated[
        str | None, Meta(description="without a session: go on after this cursor; from now if left out")
    ] = None


class Connected(Struct, rename="camel", omit_defaults=True, tag="connected"):
    """The first message: the feed goes on after this."""

    version: str
    session_id: str | None = None
    user_id: str | None = None
    after: Seq | None = None
    cursor: str | None = None


class FeedMessage(Struct, rename="camel", omit_defaults=True):
    """One event; `data` is an action, or what the store's own event says."""

    type: str
    session_id: str
    seq: Seq
    data: Any
    timestamp: str
    cursor: str | None = None
