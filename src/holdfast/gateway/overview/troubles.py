"""What is wrong, worst first, each with what helps. Only what is known already is looked at: nothing is examined here,
which is what `holdfast doctor` is for."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from holdfast.core.clock import to_iso
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.operations.timers import BACKUP, Timer
from holdfast.gateway.wire.overview import OverviewTrouble
from holdfast.store import OpenWork

BAD: Final = "bad"
WARNING: Final = "warning"
SEVERITIES = (BAD, WARNING)
LATE = 3
"""How many times its interval a timer may be late before it is said."""
LAG_SECONDS = 30.0
OPERATIONS = "docs/operations.md"
TROUBLESHOOTING = "docs/troubleshooting.md"
DOCTOR = "docs/doctor.md"


def worst_first(found: Iterator[OverviewTrouble]) -> list[OverviewTrouble]:
    """The troubles in the order in which somebody should look at them."""
    return sorted(found, key=lambda trouble: SEVERITIES.index(trouble.severity))


def of_tenant(interrupted: int, work: OpenWork) -> Iterator[OverviewTrouble]:
    """What is wrong with a tenant's sessions."""
    if work.unresolved_effects:
        yield OverviewTrouble(
            BAD,
            _many(work.unresolved_effects, "effect of a tool has", "effects of tools have")
            + " begun and never ended: nobody here knows whether "
            + ("it took place" if work.unresolved_effects == 1 else "they took place"),
            f"holdfast sessions show {work.unresolved_session}",
            "docs/promises/10-an-effect-happens-once.md",
            work.unresolved_session,
        )
    if interrupted:
        yield OverviewTrouble(
            WARNING,
            _many(interrupted, "session is", "sessions are") + " interrupted: the last turn did not end",
            "holdfast sessions ls --status interrupted",
            TROUBLESHOOTING,
        )


def of_gateway(
    gateway: Gateway, figures: Mapping[str, Any] | None, prices: str | None, now: int
) -> Iterator[OverviewTrouble]:
    """What is wrong with a gateway and its whole store; `figures` are None if the store could not be asked."""
    yield from _of_store(gateway, figures)
    for timer in gateway.timers:
        yield from _of_timer(timer, now)
    yield from _of_backups(gateway)
    if gateway.draining:
        yield OverviewTrouble(
            WARNING, "the gateway drains, and will stop soon", "wait, or look who stops it", OPERATIONS
        )
    if gateway.legacy is not None and gateway.legacy.refused:
        yield OverviewTrouble(
            WARNING,
            _many(gateway.legacy.refused, "session", "sessions") + " of the older layout could not be read",
            "holdfast doctor --session-sqlite inspect",
            DOCTOR,
        )
    if gateway.files is not None and gateway.files.trouble is not None:
        yield OverviewTrouble(
            WARNING,
            f"the files of sessions are not up to date: {gateway.files.trouble}",
            f"df -h {shlex.quote(str(gateway.files.folder))}",
            "docs/files.md",
        )
    if prices is not None:
        yield OverviewTrouble(
            WARNING, f"the prices cannot be read: {prices}", "edit the file of --prices", "docs/dashboard.md"
        )


def _of_store(gateway: Gateway, figures: Mapping[str, Any] | None) -> Iterator[OverviewTrouble]:
    failure = gateway.store.failure
    if failure is not None:
        yield OverviewTrouble(
            BAD, f"the store takes no writes: {failure.message}", "restart the gateway", TROUBLESHOOTING
        )
    if figures is None:
        yield OverviewTrouble(BAD, "the store could not be asked for its sizes", "holdfast doctor", DOCTOR)
        return
    if figures.get("shortOfRoom"):
        yield OverviewTrouble(
            BAD,
            "the disk is short of room: only deletions are taken",
            "holdfast sessions rm --older-than 90d --dry-run",
            OPERATIONS,
        )
    free, size, wal = (figures.get(name) for name in ("diskFreeBytes", "sizeBytes", "walSizeBytes"))
    if wal is not None:
        from holdfast.store.health import LONG_LOG

        if wal >= LONG_LOG:
            yield OverviewTrouble(
                WARNING, f"the write-ahead log has {wal / 1e6:,.0f} MB and is not emptied", "holdfast doctor", DOCTOR
            )
        if free is not None and size is not None and free < 2 * size and not figures.get("shortOfRoom"):
            yield OverviewTrouble(
                WARNING, f"the disk has no room for copies of the store: {free / 1e6:,.0f} MB are free", "df -h", DOCTOR
            )
    if gateway.store.feed_lag > LAG_SECONDS:
        yield OverviewTrouble(
            WARNING, f"live feeds are {gateway.store.feed_lag:,.0f} s behind", "holdfast doctor", TROUBLESHOOTING
        )


def _of_timer(timer: Timer, now: int) -> Iterator[OverviewTrouble]:
    severity: Literal["bad", "warning"] = BAD if timer.name == BACKUP else WARNING
    if timer.failure is not None:
        yield OverviewTrouble(severity, f"{timer.name} went wrong: {timer.failure}", "holdfast db status", OPERATIONS)
    elif timer.last_success is not None and now - timer.last_success > LATE * timer.every_ms and not timer.running:
        when = to_iso(timer.last_success)
        yield OverviewTrouble(severity, f"{timer.name} was last done at {when}", "holdfast db status", OPERATIONS)


def _of_backups(gateway: Gateway) -> Iterator[OverviewTrouble]:
    last = gateway.last_backup
    if last is not None and last.damaged:
        what = _many(last.damaged, "session is", "sessions are") + " damaged in the last backup, and were in the store"
        yield OverviewTrouble(BAD, what, "holdfast sessions verify", TROUBLESHOOTING)
    if last is None and not any(timer.name == BACKUP for timer in gateway.timers):
        what = "no backup is known: none was made since the start, and no timer makes any"
        yield OverviewTrouble(WARNING, what, "holdfast serve --backup-every 1d", OPERATIONS)


def _many(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"
