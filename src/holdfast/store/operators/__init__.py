"""What the operators of a gateway keep in the store: tokens, the audit log, duties."""

from holdfast.store.operators.audit import MAX_PAGE
from holdfast.store.operators.duties import Duty
from holdfast.store.operators.tokens import (
    ADMIN,
    LONGEST_MS,
    METRICS,
    OPERATOR,
    READ,
    SCOPES,
    WRITE,
    Token,
    digest,
    id_of,
)

__all__ = [
    "ADMIN",
    "LONGEST_MS",
    "MAX_PAGE",
    "METRICS",
    "OPERATOR",
    "READ",
    "SCOPES",
    "WRITE",
    "Duty",
    "Token",
    "digest",
    "id_of",
]
