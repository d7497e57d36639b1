"""What a proof can say, what a run of proofs amounts to, and the exit code for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Verdict(StrEnum):
    """The four things that can be said of a claim."""

    PROVEN = "proven"
    DISPROVEN = "disproven"
    INCONCLUSIVE = "inconclusive"
    NOT_REACHED = "not reached"


class Exit(IntEnum):
    """The exit code of a run. Disproven wins over a fault, a fault over inconclusive."""

    PROVEN = 0
    DISPROVEN = 1
    FAULT = 2
    INCONCLUSIVE = 3


VERDICTS = {Exit.PROVEN: "proven", Exit.DISPROVEN: "disproven", Exit.FAULT: "fault", Exit.INCONCLUSIVE: "inconclusive"}
"""What a run amounts to, in a word."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its grounds; `fault` means that it is about the surroundings, not the target."""

    verdict: Verdict
    reason: str
    expected: str = ""
    got: str = ""
    curl: str = ""
    hint: str = ""
    fault: bool = False


def proven(reason: str) -> Finding:
    """The claim holds."""
    return Finding(Verdict.PROVEN, reason)


def disproven(reason: str, *, expected: str, got: str, curl: str = "", hint: str = "") -> Finding:
    """The claim does not hold; `curl` is a command that shows it."""
    return Finding(Verdict.DISPROVEN, reason, expected, got, curl, hint)


def inconclusive(reason: str, *, hint: str, expected: str = "", got: str = "", curl: str = "") -> Finding:
    """The claim could not be judged; `hint` says what would make it possible."""
    return Finding(Verdict.INCONCLUSIVE, reason, expected, got, curl, hint)


def faulted(reason: str, *, hint: str = "") -> Finding:
    """Something between us and the target broke, so nothing can be said of the target."""
    return Finding(Verdict.INCONCLUSIVE, reason, hint=hint, fault=True)


def not_reached(reason: str) -> Finding:
    """A prerequisite is broken, so the claim was not tried."""
    return Finding(Verdict.NOT_REACHED, reason)


def exit_code(prerequisites: Iterable[Finding], proofs: Iterable[Finding]) -> Exit:
    """The code of a run; one in which no proof came to a verdict of its own is never 0."""
    claims = list(proofs)
    everything = [*prerequisites, *claims]
    if any(finding.verdict is Verdict.DISPROVEN for finding in everything):
        return Exit.DISPROVEN
    if any(finding.fault for finding in everything):
        return Exit.FAULT
    if any(finding.verdict is Verdict.INCONCLUSIVE for finding in everything):
        return Exit.INCONCLUSIVE
    if claims and all(finding.verdict is Verdict.PROVEN for finding in claims):
        return Exit.PROVEN
    return Exit.FAULT
