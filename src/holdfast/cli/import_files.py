"""Importing plain files: each line becomes an event once, and what was read is kept, with a manifest.

A session that is new here arrives whole, as from an archive, with the times and places that its files say; one that is
here already is gone on with, by what it lacks. A folder that cannot be read, or whose session the gateway refuses, is
named with its reason, and the others arrive.

An import says in its manifest which sessions it made, so it can be taken back: those sessions are deleted, archived
first, unless something else has been written to them since.
"""

import asyncio
import hashlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.cli.errors import Refused, problem_of
from holdfast.cli.service import Service, at
from holdfast.core import HoldfastError, NewEvent, SystemClock, TimeOrderedIds, types
from holdfast.core.clock import to_iso
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.store.portable import (
    SessionFolder,
    Skipped,
    described,
    ended,
    is_session,
    moment,
    read_folder,
    read_log,
    session_folders,
)
from holdfast.terminal.progress import ProgressLine

BATCH = 500
CHUNK = 256 * 1024
ZIP = "application/zip"
OF_THE_SESSION = frozenset({400, 404, 409, 410, 413})
"""Statuses of refusals that are a matter of one session; others end the import."""
MANIFEST = "manifest.json"
LINES = "application/x-ndjson"
CREATED = 201


async def import_files(service: Service, root: Path, keep: Path, progress: ProgressLine) -> dict[str, Any]:
    """Import every session folder under `root`; what was done, what was refused, and where the files were kept."""
    done: dict[str, Any] = {"sessions": [], "thereBefore": [], "events": 0, "skipped": [], "refused": []}
    folders = [path for path in session_folders(root) if path.is_symlink() or is_session(path)]
    if not folders:
        raise InvalidInput(
            f"there is no session in {root}", hint="name the folder that has sessions/<id>/actions.jsonl"
        )
    kept = _keep(folders, keep)
    made: dict[str, int] = {}
    try:
        for number, path in enumerate(folders):
            progress(f"{number:,} of {len(folders):,} sessions imported")
            try:
                arrived = await _arrive(service, path)
            except HoldfastError as error:
                done["refused"].append(_refusal(path.name, error))
                continue
            done["events"] += arrived.events
            done["thereBefore" if arrived.made is None else "sessions"].append(path.name)
            done["skipped"] += [{**each._asdict(), "file": f"{path.name}/{each.file}"} for each in arrived.skipped]
            if arrived.made is not None:
                made[path.name] = arrived.made
    finally:
        _say(kept, {"made": made, "extended": done["thereBefore"]})
    return {**done, "kept": str(kept)}


class Arrived(NamedTuple):
    """What an import did with one folder: new events, lines left out, and where the log of a new session ends."""

    events: int
    skipped: list[Skipped]
    made: int | None


async def _arrive(service: Service, path: Path) -> Arrived:
    """Import one folder: as a new session, or into the one that is here."""
    log = await asyncio.to_thread(read_log, path, SystemClock(), TimeOrderedIds())
    if await _head(service, log.session_id) is not None:
        folder = read_folder(path)
        count = await _go_on(service, folder)
        return Arrived(count, list(dict.fromkeys([*log.skipped, *folder.skipped])), None)
    with tempfile.TemporaryFile() as file:
        head = await asyncio.to_thread(log.write, file)
        file.seek(0)

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := file.read(CHUNK):
                yield chunk

        async with service.stream("POST", "/api/import", content=chunks(), media=ZIP) as answer:
            await answer.aread()
    return Arrived(log.lines, log.skipped, head)


def _refusal(session_id: str, error: HoldfastError) -> dict[str, Any]:
    """Why one session was refused; the error itself if it is no matter of that session."""
    refusal = problem_of(error)
    if refusal["status"] not in OF_THE_SESSION:
        raise error
    where = {"file": f"{session_id}/{refusal['member']}"} if refusal.get("member") not in (None, session_id) else {}
    line = {"line": refusal["line"]} if "line" in refusal else {}
    return {"session": session_id, **where, **line, "code": refusal["code"], "reason": refusal["detail"]}


async def undo(service: Service, kept: Path) -> dict[str, Any]:
    """Take back the import that kept its files here: delete the sessions it made, if they are as it made them."""
    try:
        manifest = json.loads((kept / MANIFEST).read_bytes())
        made: dict[str, int] = dict(manifest["made"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{kept} is not what an import kept: {error}", hint="name the folder that the import printed"
        ) from None
    found = {session_id: await _head(service, session_id) for session_id in made}
    for session_id, head in found.items():
        if head not in (None, made[session_id]):
            raise Conflict(
                f"session {session_id!r} has gone on since it was imported", hint="delete it by name if you mean it"
            )
    deleted = [session_id for session_id, head in found.items() if head is not None]
    for session_id in deleted:
        await service.call("DELETE", at("/api/sessions/{}", session_id), slow=True, reason="import taken back")
    return {"deleted": deleted, "events": sum(made[session_id] for session_id in deleted)}


async def _head(service: Service, session_id: str) -> int | None:
    """Where a session's log ends; None if there is no such session, or no longer."""
    try:
        found = await service.call("GET", at("/api/sessions/{}/resume", session_id), limit=1)
    except Refused as refused:
        if not refused.is_missing:
            raise
        return None
    return int(found["session"]["headSeq"])


async def _go_on(service: Service, folder: SessionFolder) -> int:
    """Write what the session that is here lacks of a folder; how many of the lines are new in it."""
    path = at("/api/sessions/{}", folder.session_id)
    count = 0
    for batch in _batches(folder.events):
        count += await _append(service, folder.session_id, batch)
    here = await service.call("GET", path, limit=1)
    known = folder.metadata or {}
    about = described(known, folder.initial)
    own = about.body.metadata or {}
    if any(here["metadata"]["metadata"].get(name) != value for name, value in own.items()):
        await service.call("PATCH", f"{path}/metadata", body=own, key=_key(own))
    tags = [tag for tag in about.body.tags or () if tag not in here["metadata"]["tags"]]
    if tags:
        await service.call("POST", f"{path}/tags", body={"add": tags, "idempotencyKey": _key(tags)})
    if folder.state and not _has(here["state"], folder.state):
        await service.call("PATCH", at("/api/state/{}", folder.session_id), body=folder.state, key=_key(folder.state))
    end = ended(folder.final, about.status)
    if end is not None:
        body = {name: end[name] for name in ("status", "outcome", "response")}
        if not _has(here["final"] or {}, body):
            await service.call("POST", f"{path}/finalize", body={**body, "idempotencyKey": _key(body)})
    return count


def _has(here: Any, given: Any) -> bool:
    """Whether a value of the session has all that a file says: members of objects, and of lists those with an id."""
    if isinstance(here, dict) and isinstance(given, dict):
        return all(value is None or (name in here and _has(here[name], value)) for name, value in given.items())
    if isinstance(here, list) and isinstance(given, list) and all(isinstance(each, dict) for each in (*here, *given)):
        return all(any(_has(other, each) for other in here) for each in given)
    return here == given or (isinstance(here, str) and isinstance(given, str | int) and _same_time(here, given))


def _same_time(one: str, other: str | int) -> bool:
    try:
        return moment(one) == moment(other)
    except InvalidInput:
        return False


def _key(value: Any) -> str:
    """The idempotency key of what an import writes: the same for the same."""
    return "import-" + hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


async def _append(service: Service, session_id: str, batch: list[NewEvent]) -> int:
    """Append lines in their order, actions together, a response by itself; how many are new."""
    lines: list[bytes] = []
    count = 0

    async def flush() -> None:
        nonlocal count
        if lines:
            path = at("/api/actions/{}/batch", session_id)
            async with service.stream("POST", path, content=b"\n".join(lines), media=LINES) as answer:
                count += len(lines) - json.loads(await answer.aread())["replayed"]
            lines.clear()

    for event in batch:
        if event.type == types.RESPONSE:
            await flush()
            path = at("/api/actions/{}/responses", session_id)
            async with service.stream("POST", path, content=_line(event)) as answer:
                await answer.aread()
                count += answer.status_code == CREATED
        else:
            lines.append(_line(event))
    await flush()
    return count


def _line(event: NewEvent) -> bytes:
    """An event as the action routes take it, its details as they were."""
    members = {"eventId": event.event_id, "idempotencyKey": event.idempotency_key}
    if event.type != types.RESPONSE:
        members["type"] = event.type
    if event.created_at is not None:
        members["timestamp"] = to_iso(event.created_at)
    named = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
    details = event.payload if isinstance(event.payload, bytes) else json.dumps(event.payload).encode()
    return named[:-1] + b', "details": ' + details.replace(b"\r", b" ").replace(b"\n", b" ") + b"}"


def _batches(events: Iterator[NewEvent]) -> Iterator[list[NewEvent]]:
    batch: list[NewEvent] = []
    for event in events:
        batch.append(event)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _keep(folders: list[Path], keep: Path) -> Path:
    """Copy what is imported to a new folder; its manifest has every file's size and SHA-256."""
    kept = keep / TimeOrderedIds()()
    for private in (keep, kept, kept / "sessions"):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    files: list[dict[str, Any]] = []
    for folder in folders:
        for path in _files_in(folder):
            target = kept / "sessions" / folder.name / path.name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            digest = hashlib.sha256(target.read_bytes()).hexdigest()
            files.append({"file": f"{folder.name}/{path.name}", "size": target.stat().st_size, "sha256": digest})
    _say(kept, {"importedAt": to_iso(SystemClock().now()), "files": files})
    return kept


def _files_in(folder: Path) -> list[Path]:
    """The regular files of a folder; none if it is a link or cannot be read, and so is refused."""
    if folder.is_symlink():
        return []
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and not each.is_symlink())
    except PermissionError:
        return []


def _say(kept: Path, members: dict[str, Any]) -> None:
    path = kept / MANIFEST
    known = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps({**known, **members}, indent=2) + "\n")
