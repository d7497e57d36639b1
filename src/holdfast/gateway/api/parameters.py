"""The parameters that many routes share."""

from typing import Annotated

from fastapi import Depends, Header, Query, Request
from pydantic import AfterValidator

from holdfast.core.clock import from_iso
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name
from holdfast.gateway.access.auth import store_of
from holdfast.store import MAX_PAGE, Store, check_key

DEFAULT_PAGE = 50


async def _callers_store(request: Request) -> Store:
    return store_of(request)


TenantStore = Annotated[Store, Depends(_callers_store)]
"""The store of the caller's tenant: no route has another."""

Create = Annotated[bool, Query(description="false refuses a session that does not exist")]
IdempotencyKey = Annotated[
    str | None,
    Header(description="names this write: sent again, it changes nothing"),
    AfterValidator(lambda key: check_callers_key(key) if key else None),
]
PageCursor = Annotated[str | None, Query(description="the cursor of the page before")]
PageLimit = Annotated[int, Query(ge=1, le=MAX_PAGE)]


def check_callers_key(key: str) -> str:
    """An idempotency key that a caller may use, or InvalidInput."""
    check_key(key)
    return check_name(key, "an idempotency key")


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


def same_as(name: str, *given: str | None) -> str:
    """The name of a path; InvalidInput if a body names another."""
    for other in given:
        if other not in (None, name):
            raise InvalidInput(f"the path says {name!r:.80} and the body {other!r:.80}")
    return name


def milliseconds(timestamp: str | float | None) -> int | None:
    """A timestamp of a body as the store keeps it; None is now."""
    if timestamp is None:
        return None
    return from_iso(timestamp) if isinstance(timestamp, str) else int(timestamp)
