"""What a check finds: a state, the reason, and what mends it."""

from dataclasses import dataclass
from enum import StrEnum


class HealthState(StrEnum):
    """How something is."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """What one check found; `mend` is a command, or what to do where there is none."""

    check: str
    state: HealthState
    reason: str
    mend: str | None = None


def ok(check: str, reason: str) -> HealthFinding:
    """All is well."""
    return HealthFinding(check, HealthState.OK, reason)


def warning(check: str, reason: str, mend: str) -> HealthFinding:
    """It works, and somebody should look at it."""
    return HealthFinding(check, HealthState.WARNING, reason, mend)


def failed(check: str, reason: str, mend: str) -> HealthFinding:
    """It does not work, or something is lost or damaged."""
    return HealthFinding(check, HealthState.FAILED, reason, mend)


def unknown(check: str, reason: str, mend: str | None = None) -> HealthFinding:
    """It could not be told."""
    return HealthFinding(check, HealthState.UNKNOWN, reason, mend)
