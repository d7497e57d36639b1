"""`holdfast doctor --session-sqlite`: the older layout of sessions, and what the store has of it.

`inspect`, `dry-run` and `validate` only read. The other modes have the store to themselves: they are refused while a
gateway serves it. Each of them may be interrupted at any moment and run again.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.cli.doctor.session_report import SessionReport
from holdfast.cli.options import Location
from holdfast.core.errors import InvalidInput, StoreInUse
from holdfast.core.store_file import StoreLock, lock_path, sqlite_path
from holdfast.store import DEFAULT_TENANT, Store, open_store, shrink_store
from holdfast.store.health import Examination, kept_session, open_examination, statistics
from holdfast.store.transfer import origin, records, restore_files
from holdfast.transcripts import import_transcripts
from holdfast.transcripts.legacy import STORE_UNREADABLE, LegacySession, LegacySource, LegacyTarget, inspect
from holdfast.transcripts.store_sessions import StoreSessions

READS = ("inspect", "dry-run", "validate")
WHOLE = ("compact", "recover", "restore")
IMPORTS = "imports"
FILES = "files"
"""Where a record keeps the files of an import, in the layout that they had."""

ENTRY_MISSING = "entry_missing"
ID_DIFFERS = "id_differs"
EVENTS_DIFFER = "events_differ"
SOURCE_TAKEN = "source_taken"


async def report_of(where: Location, mode: str, agent: str | None) -> dict[str, Any]:
    """What a mode found or did."""
    if agent is not None and mode in WHOLE:
        raise InvalidInput(f"{mode} is about all agents", hint="leave --agent out")
    report = SessionReport(mode)
    if mode == "import":
        await _import(where, report, moves=True, agent=agent)
    elif mode == "recover":
        await _recover(where, report)
    elif mode == "restore":
        await _restore(where, report)
    elif mode == "compact":
        await _compact(where, report)
    else:
        await _look(where, report, agent)
        return report.document()
    await _add_statistics(where, report, agent)
    return report.document()


async def _look(where: Location, report: SessionReport, agent: str | None) -> None:
    """Compare the files with the store, and change neither."""
    archives = await asyncio.to_thread(_archives, where)
    targets = list((await asyncio.to_thread(inspect, where.data, agent=agent, archives=archives)).targets)
    if report.mode == "validate":
        targets += await asyncio.to_thread(_archived, archives, agent, targets)
    if not _is_there(where):
        for target in targets:
            about = report.add_target(target)
            for session in target.sessions:
                _missing(report, about, session)
            await _check_unusable(None, where, report, target)
        return
    async with open_examination(where.store_url, "") as found:
        for target in targets:
            about = report.add_target(target)
            for session in target.sessions:
                if session.hot:
                    await _compare(found, where, report, about, session)
            await _check_unusable(found, where, report, target)
        report.statistics = await statistics(found, _tenant(where), agent)


async def _compare(
    found: Examination, where: Location, report: SessionReport, about: dict[str, Any], session: LegacySession
) -> None:
    kept = await kept_session(found, _tenant(where), session.session_id, session.keys)
    if kept.head is None and not kept.deleted:
        _missing(report, about, session)
        return
    report.count(about, "sqliteEntries", sum(route is not None for route in kept.routes.values()))
    if report.mode != "validate" or kept.deleted:
        return
    for key, route in kept.routes.items():
        if route is None:
            _differs(report, ENTRY_MISSING, f"key {key} routes to no session", key)
        elif route != session.session_id:
            _differs(report, ID_DIFFERS, f"key {key} routes to {route}, in the files to {session.session_id}", key)
        else:
            report.count(about, "validatedEntries", 1)
    events = (kept.head or 1) - 1  # the first describes the session
    if events != session.events:
        said = f"session {session.session_id} has {events:,} events, in the files {session.events:,}"
        _differs(report, EVENTS_DIFFER, said, session.keys[0])
    else:
        report.count(about, "validatedTranscriptEvents", events)


async def _check_unusable(
    found: Examination | None, where: Location, report: SessionReport, target: LegacyTarget
) -> None:
    """Entries that no session can be made of are missing from the store, unless it has their key or deleted it."""
    if report.mode != "validate":
        return
    usable = {session.file for session in target.sessions}
    for issue in target.issues:
        if issue.code == STORE_UNREADABLE:
            report.failed = True  # nobody knows what is missing
        key, file = issue.session_key, issue.file
        if key is None or file is None or file in usable:
            continue
        kept = None if found is None else await kept_session(found, _tenant(where), file.stem, (key,))
        if kept is None or (kept.routes[key] is None and not kept.deleted):
            _differs(report, ENTRY_MISSING, f"nothing of key {key} is in the store", key)


def _missing(report: SessionReport, about: dict[str, Any], session: LegacySession) -> None:
    """A session that the store does not have: to be imported, or lost."""
    if not session.hot:
        return
    if report.mode == "validate":
        for key in session.keys:
            _differs(report, ENTRY_MISSING, f"session {session.session_id} of key {key} is not in the store", key)
    if report.mode == "dry-run" and not session.archived:
        report.count(about, "importedEntries", len(session.keys))
        report.count(about, "importedTranscriptEvents", session.events)


def _differs(report: SessionReport, code: str, message: str, key: str) -> None:
    report.failed = True
    report.add_issue(code, message, key)


def _archives(where: Location) -> list[Path]:
    """The folders to which imports of these files have moved them, the newest first."""
    about = origin(LegacySource.name, where.data)
    moved = [
        record / FILES
        for record, manifest in records(where.data / IMPORTS)
        if all(manifest.get(name) == value for name, value in about.items()) and manifest.get("moves")
    ]
    return moved[::-1]


def _archived(archives: Sequence[Path], agent: str | None, here: list[LegacyTarget]) -> list[LegacyTarget]:
    """What imports have moved away with its index; the newest, where a session was moved twice."""
    seen = {(target.agent, session.session_id) for target in here for session in target.sessions}
    found = []
    for archive in archives:
        for target in inspect(archive, agent=agent).targets:
            sessions = tuple(each for each in target.sessions if (target.agent, each.session_id) not in seen)
            seen |= {(target.agent, each.session_id) for each in sessions}
            entries = sum(len(each.keys) for each in sessions)
            found.append(replace(target, sessions=sessions, entries=entries, issues=()))
    return [target for target in found if target.sessions]


async def _import(where: Location, report: SessionReport, *, moves: bool, agent: str | None = None) -> None:
    """Bring the hot sessions into the store; their files move into the record, which is on the disk before."""
    archives = await asyncio.to_thread(_archives, where)
    found = await asyncio.to_thread(inspect, where.data, agent=agent, archives=archives)
    targets = [(target, report.add_target(target), _files_of(target)) for target in found.targets]
    async with _alone(where) as store:
        source = LegacySource(hot_only=True, agent=agent)
        done = await import_transcripts(StoreSessions(store), source, where.data, where.data / IMPORTS, moves=moves)
    for target, about, files in targets:
        new = [each for each in target.sessions if each.session_id in done.sessions]
        about["importedEntries"] = sum(len(each.keys) for each in new)
        about["importedTranscriptEvents"] = sum(each.events for each in new)
        about["archivedFiles"] = sum(not file.exists() for file in files)
    named = {session.session_id for target in found.targets for session in target.sessions}
    entries = sum(about["importedEntries"] for _, about, _ in targets)
    report.count(None, "importedEntries", entries + sum(each not in named for each in done.sessions))
    report.count(None, "importedTranscriptEvents", done.events)
    report.count(None, "archivedFiles", done.moved)
    said = {issue.message for issue in found.issues} | {str(issue.file) for issue in found.issues if issue.lost}
    for refused in done.refused:
        report.failed = True
        if not {refused.reason, refused.file} & said:
            report.add_issue(refused.code, refused.reason, None)
    if targets:
        report.done.append(f"the record of the import is {done.record}")


def _files_of(target: LegacyTarget) -> list[Path]:
    """The files that lie in an agent's folder and that an import may move."""
    hot = [each.file for each in target.sessions if each.hot and not each.archived]
    return [file for file in (target.index, *hot) if file.exists()]


async def _recover(where: Location, report: SessionReport) -> None:
    """Finish what an import that was cut off has begun; nothing if none was."""
    about = origin(LegacySource.name, where.data)
    unfinished = {
        bool(manifest.get("moves"))
        for _, manifest in await asyncio.to_thread(lambda: list(records(where.data / IMPORTS)))
        if "endedAt" not in manifest and all(manifest.get(name) == value for name, value in about.items())
    }
    for moves in sorted(unfinished):
        await _import(where, report, moves=moves)
    if not unfinished:
        async with _alone(where):
            report.done.append("no import was interrupted")


async def _restore(where: Location, report: SessionReport) -> None:
    """Move the files of imports back where they were, if their places are free."""
    about = origin(LegacySource.name, where.data)
    async with _alone(where):
        for record, manifest in await asyncio.to_thread(lambda: list(records(where.data / IMPORTS))):
            if all(manifest.get(name) == value for name, value in about.items()):
                back, taken = await asyncio.to_thread(restore_files, record)
                report.done += [f"moved back: {each}" for each in back]
                for each in taken:
                    report.failed = True
                    report.add_issue(SOURCE_TAKEN, f"{each} is there again, and stays as it is", None)


async def _compact(where: Location, report: SessionReport) -> None:
    """Write the store's file anew."""
    path = sqlite_path(where.store_url)
    if path is None:
        raise InvalidInput("only the file of a SQLite store can be written anew")
    with StoreLock(lock_path(path)):
        before, after = await shrink_store(where.store_url)
    report.done.append(f"{path}: {before:,} bytes, now {after:,}")


async def _add_statistics(where: Location, report: SessionReport, agent: str | None) -> None:
    async with open_examination(where.store_url, "") as found:
        report.statistics = await statistics(found, _tenant(where), agent)


@asynccontextmanager
async def _alone(where: Location) -> AsyncIterator[Store]:
    """The store, for whoever has it alone; StoreInUse while a gateway serves it."""
    path = sqlite_path(where.store_url)
    if path is None:
        async with await open_store(where.store_url, tenant=_tenant(where)) as store:
            live = await store.servers.list()
            if live:
                raise StoreInUse(f"the gateway at {live[0].url} serves the store", hint="stop it first")
            yield store
        return
    with StoreLock(lock_path(path)) as lock:
        lock.say({"pid": os.getpid(), "command": True})
        async with await open_store(where.store_url, tenant=_tenant(where), claim=lock.claim()) as store:
            await store.declare_all_dead()
            yield store


def _is_there(where: Location) -> bool:
    path = sqlite_path(where.store_url)
    return path is None or Path(path).exists()


def _tenant(where: Location) -> str:
    return DEFAULT_TENANT if where.tenant is None else where.tenant
