"""The health of a store: what is right with it, what is not, and what mends that. Looking changes nothing.

`open_examination` opens a store for reading alone, `findings` runs every check of `CHECKS`; a store that cannot be
opened is a finding too (`refusal`). Beside a server at work, checks that read much take a sample, so that its log does
not grow meanwhile.
"""

from holdfast.store.health.checks import CHECKS, Check
from holdfast.store.health.examination import Examination, StoreServer
from holdfast.store.health.files import LONG_LOG, close_to_others
from holdfast.store.health.finding import HealthFinding, HealthState, failed, ok, unknown, warning
from holdfast.store.health.opening import OPENING, findings, open_examination, patient, refusal
from holdfast.store.health.store_statistics import (
    KeptSession,
    StoreStatistics,
    kept_session,
    missing_sessions,
    statistics,
)

__all__ = [
    "CHECKS",
    "LONG_LOG",
    "OPENING",
    "Check",
    "Examination",
    "HealthFinding",
    "HealthState",
    "KeptSession",
    "StoreServer",
    "StoreStatistics",
    "close_to_others",
    "failed",
    "findings",
    "kept_session",
    "missing_sessions",
    "ok",
    "open_examination",
    "patient",
    "refusal",
    "statistics",
    "unknown",
    "warning",
]
