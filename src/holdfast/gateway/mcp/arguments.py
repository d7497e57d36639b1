"""The arguments that many tools share.

Sessions, memories and checkpoints are named in every call. Nothing is remembered between calls, so any gateway of a
store answers any of them.
"""

from typing import Annotated

from msgspec import Meta

from holdfast.gateway.wire.types import SESSION_ID, Body, Name

MOST_ENTRIES = 100
DEFAULT_ENTRIES = 20

Handle = Annotated[
    str,
    Meta(min_length=1, max_length=200, description="the session's id", extra_json_schema=SESSION_ID),
]
Limit = Annotated[int, Meta(ge=1, le=MOST_ENTRIES, description="how many at most; a page of large ones has fewer")]
Cursor = Annotated[str | None, Meta(description="the cursor of the page before, to go on after it")]
RetryKey = Annotated[
    Annotated[str, Meta(min_length=1, max_length=512, pattern=r"^[\x21-\x7e]+$(?![\s\S])")] | None,
    Meta(
        description="idempotency key: a name for this one change. Sent again with it, the call changes nothing more "
        "and gives the first result; so retry with the same key",
    ),
]
Create = Annotated[bool, Meta(description="make the session if there is none with this id")]
OneName = Annotated[Name, Meta(description="a name of up to 512 characters")]


class OfSession(Body, kw_only=True):
    """One session."""

    session_id: Handle


class ChangeOfSession(OfSession, kw_only=True):
    """A change of one session, which can be sent again."""

    idempotency_key: RetryKey = None
