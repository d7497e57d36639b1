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


GROUNDS = {
    "expected": "expected",
    "got": "got",
    "hint": "hint",
    "remedy": "remedy",
    "see": "see",
    "curl": "show it",
}
"""What a finding rests on, and what to do about it: the members of a summary, and what a reader calls them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its grounds; `fault` means that it is about the surroundings, not the target.

    `absent` means that the target has nothing to try the claim on, and is fine without: unless it was asked for by name
    it is left out. `remedy` is what to do about a disproof, where that is not what its proof says (None).
    """

    verdict: Verdict
    reason: str
    expected: str = ""
    got: str = ""
    curl: str = ""
    hint: str = ""
    fault: bool = False
    absent: bool = False
    remedy: str | None = None


def proven(reason: str) -> Finding:
    """The claim holds."""
    return Finding(Verdict.PROVEN, reason)


def disproven(
    reason: str, *, expected: str, got: str, curl: str = "", hint: str = "", remedy: str | None = None
) -> Finding:
    """The claim does not hold; `curl` is a command that shows it, `remedy` what to do if its proof does not say it."""
    return Finding(Verdict.DISPROVEN, reason, expected, got, curl, hint, remedy=remedy)


def inconclusive(reason: str, *, hint: str, expected: str = "", got: str = "", curl: str = "") -> Finding:
    """The claim could not be judged; `hint` says what would make it possible."""
    return Finding(Verdict.INCONCLUSIVE, reason, expected, got, curl, hint)


def faulted(reason: str, *, hint: str = "") -> Finding:
    """Something between us and the target broke, so nothing can be said of the target."""
    return Finding(Verdict.INCONCLUSIVE, reason, hint=hint, fault=True)


def not_reached(reason: str, *, fault: bool = False) -> Finding:
    """A prerequisite is broken, so the claim was not tried; `fault` if nothing can be said of the target at all."""
    return Finding(Verdict.NOT_REACHED, reason, fault=fault)


def not_green(code: int) -> int:
    """The code of a run that found this much and could not report it: never 0."""
    return int(code) or int(Exit.FAULT)


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
