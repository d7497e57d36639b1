"""Importing plain files: each line becomes an event once, and what was read is kept, with a manifest.

An import says in its manifest which sessions it made, so it can be taken back: those sessions are deleted, archived
first, unless something else has been written to them since.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.cli.errors import Refused
from holdfast.cli.service import Service, at
from holdfast.cli.show import Progress
from holdfast.core import NewEvent, SystemClock, TimeOrderedIds, types
from holdfast.core.clock import to_iso
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.store.portable import SessionFolder, read_folder, session_folders

BATCH = 500
MANIFEST = "manifest.json"
LINES = "application/x-ndjson"
CREATED = 201


async def import_files(service: Service, root: Path, keep: Path, progress: Progress) -> dict[str, Any]:
    """Import every session folder under `root`; what was done, and where the files were kept."""
    done: dict[str, Any] = {"sessions": [], "thereBefore": [], "events": 0, "skipped": []}
    folders = session_folders(root)
    if not folders:
        raise InvalidInput(
            f"there is no session in {root}", hint="name the folder that has sessions/<id>/actions.jsonl"
        )
    checked = [_checked(folder) for folder in folders]
    kept = _keep(folders, keep)
    made: dict[str, int] = {}
    try:
        for number, folder in enumerate(checked):
            progress(f"{number:,} of {len(checked):,} sessions imported")
            new = await _head(service, folder.session_id) is None
            head, count = await _import(service, folder)
            done["events"] += count
            done["sessions" if new else "thereBefore"].append(folder.session_id)
            done["skipped"] += [
                {**each._asdict(), "file": f"{folder.session_id}/{each.file}"} for each in folder.skipped
            ]
            if new:
                made[folder.session_id] = head
    finally:
        _say(kept, {"made": made, "extended": done["thereBefore"]})
    return {**done, "kept": str(kept)}


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


def _checked(path: Path) -> SessionFolder:
    """The folder, read to its end once, so that what is wrong with it shows before anything is written."""
    for _ in read_folder(path).events:
        pass
    return read_folder(path)


async def _head(service: Service, session_id: str) -> int | None:
    """Where a session's log ends; None if there is no such session, or no longer."""
    try:
        found = await service.call("GET", at("/api/sessions/{}/resume", session_id), limit=1)
    except Refused as refused:
        if not refused.is_missing:
            raise
        return None
    return int(found["session"]["headSeq"])


async def _import(service: Service, folder: SessionFolder) -> tuple[int, int]:
    """Write a folder's lines and documents; where the log ends then, and how many of the lines are new in it."""
    path = at("/api/sessions/{}", folder.session_id)
    if folder.initial is not None or folder.metadata is not None:
        known = folder.metadata or {}
        body = {"sessionId": folder.session_id, "initial": folder.initial, "userId": known.get("userId")}
        body |= {name: known[name] for name in ("tags", "agent") if known.get(name)}
        own = known.get("metadata")
        await service.call("POST", "/api/sessions", body={**body, "metadata": own if isinstance(own, dict) else {}})
    count = 0
    for batch in _batches(folder.events):
        count += await _append(service, folder.session_id, batch)
    if folder.state:
        stamp = hashlib.sha256(json.dumps(folder.state, sort_keys=True).encode()).hexdigest()
        await service.call("PATCH", at("/api/state/{}", folder.session_id), body=folder.state, key=f"import-{stamp}")
    if isinstance(folder.final, dict) and folder.final.get("status"):
        body = {name: folder.final.get(name) for name in ("status", "outcome", "response")}
        stamp = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        await service.call("POST", f"{path}/finalize", body={**body, "idempotencyKey": f"import-{stamp}"})
    found = await service.call("GET", f"{path}/resume", limit=1)
    return found["session"]["headSeq"], count


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
        for path in sorted(each for each in folder.iterdir() if each.is_file() and not each.is_symlink()):
            target = kept / "sessions" / folder.name / path.name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            digest = hashlib.sha256(target.read_bytes()).hexdigest()
            files.append({"file": f"{folder.name}/{path.name}", "size": target.stat().st_size, "sha256": digest})
    _say(kept, {"importedAt": to_iso(SystemClock().now()), "files": files})
    return kept


def _say(kept: Path, members: dict[str, Any]) -> None:
    path = kept / MANIFEST
    known = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps({**known, **members}, indent=2) + "\n")
