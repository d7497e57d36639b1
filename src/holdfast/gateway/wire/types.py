"""The types that the shapes on the wire are made of."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from holdfast.store import LAST_MS

MAX_SEQ = 2**63 - 1

TEXT = {"pattern": r"^[^\u0000]*$"}
OWN_TEXT = {"pattern": r"^(?!holdfast\.)[^\u0000]*$"}
SESSION_ID = {"pattern": r"^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,200}$"}
TENANT = {"pattern": r"^[A-Za-z0-9._-]{1,64}$"}
"""What the document says of texts; the store refuses others, with a hint."""

Seq = Annotated[int, Meta(ge=0, le=MAX_SEQ)]
Name = Annotated[str, Meta(min_length=1, max_length=512, extra_json_schema=TEXT)]
OwnName = Annotated[str, Meta(min_length=1, max_length=512, extra_json_schema=OWN_TEXT)]
"""A name that callers choose: those that begin with `holdfast.` are ours."""
SessionId = Annotated[str, Meta(min_length=1, extra_json_schema=SESSION_ID)]
Tenant = Annotated[str, Meta(extra_json_schema=TENANT)]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Milliseconds = Annotated[int, Meta(ge=0, le=LAST_MS)]
Timestamp = Annotated[
    Moment | Milliseconds | Annotated[float, Meta(ge=0, le=LAST_MS)] | None,
    Meta(description="ISO 8601, UTC unless it says otherwise, or milliseconds since 1970; now if left out"),
]
Document = Annotated[Any, Meta(extra_json_schema={"type": "object"})]
Time = Annotated[str, Meta(description="ISO 8601, UTC, with milliseconds")]


class Body(Struct, rename="camel", forbid_unknown_fields=True):
    """What a request says: a member that it does not have is refused, so that nothing of a body is dropped."""
