"""Every little store with a defect, the clauses that must disprove it, and what they then say."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """`disproven` with the reason of each; `also` are clauses that the defect may or may not show in."""

    disproven: dict[str, str]
    also: frozenset[str] = frozenset()


def _one(clause: str, reason: str, *also: str) -> Expected:
    return Expected({clause: reason}, frozenset(also))


DEFECTS = {
    "AcknowledgesEarly": _one(
        "kept",
        "events are lost",
        *("concurrent", "prefix", "retry", "other-body", "stale-writer", "stale-state", "tenants", "isolation"),
        *("round-trip", "damage", "deleted", "long-session"),
    ),
    "TearsBatches": _one("batch", "writes are there in part"),
    "ForgetsKeys": _one("retry", "more events", "other-body"),
    "ForgetsKeysInARace": _one("retry", "more events", "other-body", "tenants"),
    "FailsRetries": _one("retry", "a retry is told that it failed"),
    "DropsOtherBodies": _one("other-body", "other bodies were acknowledged and dropped"),
    "LastWriterWins": _one("stale-writer", "a stale write was accepted"),
    "ChecksThenWrites": _one("stale-writer", "more than one was let in"),
    "LetsNobodyIn": _one("stale-writer", "nobody was let in"),
    "OverwritesState": _one("stale-state", "a stale write was accepted"),
    "OverwritesEvents": Expected(
        {"concurrent": "acknowledged appends are lost"},
        frozenset({"prefix", "stale-writer", "retry", "other-body"}),
    ),
    "GivesUpWhenBusy": _one("concurrent", "appends failed, none of those acknowledged is lost", "retry", "prefix"),
    "SortsByItsOwnClock": Expected(
        {"prefix": "a reader saw the past change"},
        frozenset({"stale-writer", "retry", "other-body", "damage", "tenants"}),
    ),
    "ForgetsThatFloatsAreFloats": _one("round-trip", "2 of 26 values changed: 1.0 is not 1, minus zero"),
    "MixesSessions": _one("isolation", "session s holds other events than its own"),
    "IgnoresTenants": _one("tenants", "one tenant's key or name stands in another's way"),
    "SkipsDamage": _one("damage", "a damaged event was passed over in silence (4 of 5 events came)"),
    "Revives": _one("deleted", "what was deleted is there"),
    "CopiesItself": _one("long-session", "times as"),
    "InMemory": Expected(
        {
            "kept": "events are lost",
            "concurrent": "acknowledged appends are lost",
            "prefix": "does not see what was acknowledged in another process",
        },
        frozenset({"isolation", "round-trip", "long-session"}),
    ),
    "WillNotOpenTwice": _one(
        "kept",
        "the store does not go on after kill 1",
        *("concurrent", "prefix", "isolation", "round-trip", "long-session"),
    ),
}


def wrong_verdicts(name: str, verdicts: Mapping[str, str]) -> list[str]:
    """What of these clauses' verdicts is not as it should be for a store with this defect."""
    expected = DEFECTS[name]
    wrong = []
    for clause, verdict in verdicts.items():
        right = "disproven" if clause in expected.disproven else "proven"
        fine = {right} if right == "disproven" else {right, "not offered"}
        if clause == "prefix" and right == "proven":  # on a loaded machine too few reads come between the writes
            fine.add("inconclusive")
        if verdict not in fine and clause not in expected.also:
            wrong.append(f"{name}: {clause} is {verdict}, not {right}")
    return wrong
