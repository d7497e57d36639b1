"""The parameters that many routes share."""

from typing import Annotated

from fastapi import Header, Query

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name
from holdfast.store.sessions import MAX_PAGE

DEFAULT_PAGE = 50

Create = Annotated[bool, Query(description="false refuses a session that does not exist")]
IdempotencyKey = Annotated[str | None, Header(description="names this write: sent again, it changes nothing")]
PageCursor = Annotated[str | None, Query(description="the cursor of the page before")]
PageLimit = Annotated[int, Query(ge=1, le=MAX_PAGE)]


def key_of(*given: str | None) -> str | None:
    """The first idempotency key that is given; what is empty is none."""
    return next((key for key in given if key), None)


def reason_of(text: str) -> str:
    """Why somebody does something: short text, or none."""
    return check_name(text, "a reason") if text else ""


def one_of(*given: str | None) -> str | None:
    """The one that is given; InvalidInput if they contradict each other."""
    found = {text for text in given if text}
    if len(found) > 1:
        raise InvalidInput(f"two names for one thing: {', '.join(sorted(found))[:200]}")
    return found.pop() if found else None
