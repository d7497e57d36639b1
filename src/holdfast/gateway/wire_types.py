"""The types that the shapes on the wire are made of."""

from typing import Annotated, Any

from msgspec import Meta

MAX_SEQ = 2**63 - 1

Seq = Annotated[int, Meta(ge=0, le=MAX_SEQ)]
Name = Annotated[str, Meta(min_length=1, max_length=512)]
Document = Annotated[Any, Meta(extra_json_schema={"type": "object"})]
Time = Annotated[str, Meta(description="ISO 8601, UTC, with milliseconds")]
