"""All findings of a store and its surroundings, and what `--fix` did about them."""

import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from holdfast.cli.doctor import surroundings
from holdfast.cli.options import Location
from holdfast.core import HoldfastError
from holdfast.core.redact import redact
from holdfast.core.store_file import sqlite_path
from holdfast.store.health import (
    Examination,
    HealthFinding,
    HealthState,
    findings,
    open_examination,
    patient,
    refusal,
    unknown,
)


async def examine(where: Location, *, fix: bool, said: Callable[[dict[str, Any]], None] | None) -> dict[str, Any]:
    """The report of one examination; with `fix`, of one after what could be mended was. Findings are said as they
    come."""
    found = await _collected(where, None if fix else said)
    done: list[str] = []
    if fix:
        from holdfast.cli.doctor import fixes

        done = await fixes.mend(where, found)
        for each in done:
            if said is not None:
                state = "warning" if fixes.NOT_MENDED in each else "ok"
                said({"state": state, "check": "fixed", "reason": each, "mend": None})
        found = await _collected(where, said)
    return {
        "ok": all(each.state is not HealthState.FAILED for each in found),
        "store": redact(where.store_url),
        "findings": [asdict(each) for each in found],
        "fixed": done,
    }


async def _collected(where: Location, said: Callable[[dict[str, Any]], None] | None) -> list[HealthFinding]:
    found = []
    async for finding in _all(where):
        found.append(finding)
        if said is not None:
            said(asdict(finding))
    return found


async def _all(where: Location) -> AsyncIterator[HealthFinding]:
    """What the store's own checks find, then those of what is around it."""
    options = options_of(where)
    examined: Examination | None = None
    try:
        async with open_examination(where.store_url, options) as examined:
            async for finding in findings(examined):
                yield finding
            yield await _of("gateway", partial(surroundings.gateway, examined))
            yield await _of("backups", partial(surroundings.backups, where, options, examined))
            yield await _of("legacy", partial(surroundings.legacy, where, options, examined))
    except HoldfastError as error:
        if examined is not None:
            raise
        for finding in refusal(error, where.store_url, options):
            yield finding
        yield await surroundings.backups(where, options, None)
        yield await surroundings.legacy(where, options, None)


async def _of(check: str, look: Callable[[], Awaitable[HealthFinding]]) -> HealthFinding:
    """What a look at the surroundings finds; what cannot be seen is unknown, and leaves the rest as it is."""
    try:
        return await patient(look)
    except HoldfastError as error:
        return unknown(check, error.message, error.hint)


def options_of(where: Location) -> str:
    """The options by which another command finds the same store, without a password; none that the environment has."""
    if where.store is not None:
        path = sqlite_path(where.store)
        known = os.environ.get("HOLDFAST_STORE") == where.store
        return "" if known else f"--store {shlex.quote(where.store if path is not None else redact(where.store))}"
    known = os.environ.get("HOLDFAST_DATA") == str(where.data)
    return "" if known else f"--data {shlex.quote(str(where.data))}"
