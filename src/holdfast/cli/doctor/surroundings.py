"""What is around a store: its gateway, its backups, and what the older layout has left in the data folder."""

import asyncio
import os
import shlex
from pathlib import Path

from holdfast import __version__
from holdfast.cli.doctor.health_request import health_of
from holdfast.cli.options import Location
from holdfast.cli.output import number
from holdfast.core import SystemClock
from holdfast.core.store_file import sqlite_path
from holdfast.gateway.operations.backups import Backups
from holdfast.store import DEFAULT_TENANT
from holdfast.store.health import Examination, HealthFinding, failed, missing_sessions, ok, unknown, warning

NAMES = ("gateway", "backups", "legacy")
ANSWER_SECONDS = 5.0
DAY_MS = 86_400_000
OLD_DAYS = 7
FOLDER = "backups"
AGENTS = "agents"
NOTHING = "nothing of the older layout is in the data folder"


async def gateway(found: Examination) -> HealthFinding:
    """Whether the gateway that has the store answers, and is of this command's version."""
    server = found.server
    if server is None:
        return ok("gateway", "none runs on this store")
    if server.url is None:
        return ok("gateway", f"none; another command (pid {server.pid}) is at work on the store")
    restart = f"restart the gateway (pid {server.pid})"
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            version = str((await health_of(server.url))["version"])
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        said = f"the gateway at {server.url} does not answer: {str(error) or type(error).__name__}"
        return failed("gateway", said, restart) if found.path is not None else unknown("gateway", said, restart)
    if version != __version__:
        return warning("gateway", f"the gateway runs {version}, this command is {__version__}", restart)
    return ok("gateway", f"the one at {server.url} answers, and has this command's version, {version}")


async def backups(where: Location, options: str, found: Examination | None) -> HealthFinding:
    """How old the newest backup is, by the folder of backups and by what the store knows."""
    now = SystemClock().now()
    kept = Backups(_folder(where) / FOLDER, 1)
    times = [await asyncio.to_thread(kept.newest, now)]
    if found is not None:
        times.append((await found.store.duties.look("backup")).done_at)
    newest = max((each for each in times if each is not None), default=None)
    mend = f"holdfast db backup {shlex.quote(str(kept.path_at(now)))} {options}".rstrip()
    if newest is None:
        return warning("backups", "there is none that is known here", mend)
    days = (now - newest) / DAY_MS
    if days > OLD_DAYS:
        return warning("backups", f"the newest is {days:.0f} days old", mend)
    return ok("backups", f"the newest is {days:.1f} days old")


async def legacy(where: Location, options: str, found: Examination | None) -> HealthFinding:
    """Whether sessions of the older layout that are in use lie in the data folder and are not in the store."""
    if not await asyncio.to_thread(os.path.lexists, where.data / AGENTS):
        return ok("legacy", NOTHING)
    from holdfast.transcripts import Transcript
    from holdfast.transcripts.legacy import LegacySource

    there, cold = await asyncio.to_thread(LegacySource().survey, where.data)
    hot = [each.session_id for each in there if isinstance(each, Transcript)]
    if not there and not cold:
        return ok("legacy", NOTHING)
    said = f"the data folder has {number(len(hot), 'session')} of the older layout"
    if found is None:
        return unknown("legacy", f"{said}, and the store cannot be opened")
    missing = await missing_sessions(found, where.tenant or DEFAULT_TENANT, hot)
    refused = len(there) - len(hot)
    if missing and found.server is not None:
        return warning("legacy", f"{said}, and {len(missing):,} of them not in the store", "restart the gateway")
    if missing:
        mend = f"holdfast doctor --session-sqlite import {options}".rstrip()
        return warning("legacy", f"{said}, and {len(missing):,} of them not in the store", mend)
    if refused:
        mend = f"holdfast doctor --session-sqlite inspect {options}".rstrip()
        return warning("legacy", f"{refused:,} of what the older layout has cannot be used", mend)
    more = f"; {cold:,} more without a key" if cold else ""
    return ok("legacy", f"{said}, all of them in the store{more}")


def _folder(where: Location) -> Path:
    """Where a gateway keeps backups: its data folder, or else where the store's file is."""
    path = sqlite_path(where.store_url)
    return where.data if path is None or where.data.is_dir() else path.absolute().parent
