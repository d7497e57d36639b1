"""What the operators of a gateway keep in the store: tokens, the audit log, duties, runs of proofs."""

from holdfast.store.operators.audit import MAX_PAGE
from holdfast.store.operators.duties import Duty
from holdfast.store.operators.proofs import LARGEST as LARGEST_PROOF
from holdfast.store.operators.proofs import MOST_PROOFS, PostedProof, proof_id_of
from holdfast.store.operators.tokens import (
    ADMIN,
    LONGEST_MS,
    METRICS,
    OPERATOR,
    PROOFS,
    READ,
    SCOPES,
    WRITE,
    Token,
    digest,
    id_of,
)

__all__ = [
    "ADMIN",
    "LARGEST_PROOF",
    "LONGEST_MS",
    "MAX_PAGE",
    "METRICS",
    "MOST_PROOFS",
    "OPERATOR",
    "PROOFS",
    "READ",
    "SCOPES",
    "WRITE",
    "Duty",
    "PostedProof",
    "Token",
    "digest",
    "id_of",
    "proof_id_of",
]
