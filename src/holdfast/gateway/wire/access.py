"""What clients send and get about tokens and the audit log."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from holdfast.gateway.wire.types import Body, Name, Tenant
from holdfast.store.operators import LONGEST_MS

Duration = Annotated[int, Meta(ge=1, le=LONGEST_MS)]
Scope = Literal["read", "write", "admin", "metrics", "proofs", "operator"]


class NewToken(Body):
    """A token to make; for the caller's tenant unless one is named."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1)]
    tenant: Tenant | None = None
    lasts_ms: Annotated[Duration | None, Meta(description="how long it is good; for ever if left out")] = None


class TokenView(Struct, rename="camel"):
    """A token without its text."""

    token_id: str
    name: str
    tenant: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    valid: bool


class TokenMade(Struct, rename="camel"):
    """A new token. Its text is not kept: nobody can be shown it again."""

    token: str
    described: TokenView


class TokenList(Struct, rename="camel"):
    """All tokens, oldest first."""

    tokens: list[TokenView]


class AuditEntry(Struct, rename="camel"):
    """One action, and the scope that it needed; without a status it was begun and cut off."""

    entry_id: str
    timestamp: str
    caller: str
    token_id: str | None
    scope: str
    action: str
    target: str
    details: str | None
    status: int | None


class AuditPage(Struct, rename="camel"):
    """Entries, newest first, and the cursor of the next page."""

    entries: list[AuditEntry]
    cursor: str | None
