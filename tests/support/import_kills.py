"""Kill an import of the older layout, again and again, at any place; then run it to its end, look, and take it back.

A place is a write of the store, or a moment in which the record of the import, or a file that is moved, changes on the
disk. In every second case another process reads the files, and in some of these it is that one which is killed, and
only then the import. Each case has a tenant and a folder of its own.
"""

import asyncio
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.support.interrupted import Mortal
from tests.support.legacy_layout import conversation, write_index, write_session
from tests.support.processes import spawn
from tests.support.reader_processes import ALONE, APART, kill_readers

from holdfast.core.errors import InvalidInput
from holdfast.store import Store, StoreTuning, open_store
from holdfast.store.transfer import restore_files, undo_import
from holdfast.transcripts import import_transcripts
from holdfast.transcripts.legacy import LegacySource
from holdfast.transcripts.reader import ReaderFailed
from holdfast.transcripts.store_sessions import StoreSessions

TUNING = StoreTuning(step_events=20, together_events=20, arrival_ms=400)
PLACES = 30
"""Kills come at one of the first so many places, or later at random."""
HOT = 4
COLD = 2


def lay_out(folder: Path, number: int) -> dict[Path, bytes]:
    """Sessions of the older layout, some longer than a step of the store, one torn; every file and its bytes."""
    for session in range(HOT + COLD):
        texts = [f"case {number} session {session} text {text}" for text in range(5 + 10 * session)]
        torn = '{"type":"mess' if session == 1 else ""
        write_session(folder, f"s{session}", conversation(f"s{session}", *texts), torn=torn)
    write_index(folder, {f"agent:main:k{session}": f"s{session}" for session in range(HOT)})
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def import_until_killed(
    url: str, tenant: str, folder: str, writes: int | None, changes: int | None, apart: int, reader: bool
) -> None:
    """Import, and be killed after so many writes of the store or changes on the disk, or when the import has ended.

    Files of `apart` bytes are read by another process. With `reader` that one is killed in the place of this one.
    """
    if changes is not None:
        _mortal_disk(changes, _kill_reader if reader else _kill_self)

    async def run() -> None:
        store = (await open_store(url, tuning=TUNING)).for_tenant(tenant)
        destination = StoreSessions(store)
        if writes is not None:
            part = store.importing
            destination = _MortalSessions(store, replace(part, workers=Mortal(part.workers, writes)))
        with suppress(InvalidInput, ReaderFailed):  # nothing is left to import, or nobody who reads it
            files, place = Path(folder) / "in", Path(folder) / "imports"
            await import_transcripts(destination, LegacySource(), files, place, moves=True, pack=2, apart=apart)
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(run())


class _MortalSessions(StoreSessions):
    """A store's sessions whose process is killed in the middle of an archive."""

    def __init__(self, store: Store, part: Any) -> None:
        super().__init__(store)
        self._importing = part


def _kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_reader() -> None:
    kill_readers(signal.SIGKILL)


def _mortal_disk(changes: int, kill: Callable[[], None]) -> None:
    """Have somebody killed before one of this process's changes on the disk."""
    left = changes

    def mortal(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if left == 0:
                kill()
            left -= 1
            return change(*arguments, **options)

        return changed

    for owner, name in ((os, "fsync"), (Path, "rename"), (Path, "replace"), (Path, "unlink")):
        setattr(owner, name, mortal(getattr(owner, name)))


async def kill_imports(url: str, place: Path, cases: int, *, seed: int) -> Counter[str]:
    """Kill so many imports, each one to three times; how many kills found what."""
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    async with await open_store(url, tuning=TUNING) as store:
        for case in range(cases):
            folder = place / f"case-{case}"
            before = lay_out(folder / "in", case)
            tenant = store.for_tenant(f"t{seed}-{case}")
            apart, reader = (APART, case % 4 == 3) if case % 2 else (ALONE, False)
            for _ in range(chance.randint(1, 3)):
                at = chance.randrange(PLACES)
                writes, changes = (at, None) if chance.random() < 0.4 else (None, at)
                child = spawn(import_until_killed, url, tenant.tenant, str(folder), writes, changes, apart, reader)
                await asyncio.to_thread(child.join, 60)
                assert child.exitcode == -signal.SIGKILL, child.exitcode
                ends[_stage(folder)] += 1
            await run_to_the_end(tenant, folder, before)
    return ends


def _stage(folder: Path) -> str:
    """How far a killed import had come."""
    records = [path for path in (folder / "imports").glob("*") if (path / "manifest.json").exists()]
    if not records:
        return "no record yet"
    if "endedAt" in json.loads((records[0] / "manifest.json").read_bytes()):
        return "ended"
    journal = records[0] / "journal.jsonl"
    said = journal.read_bytes() if journal.exists() else b""
    return "moving" if b'"moving"' in said else "importing" if b'"making"' in said else "record only"


async def run_to_the_end(tenant: Store, folder: Path, before: dict[Path, bytes]) -> None:
    """Import again; assert that everything is there once, that the record is true, and that it is taken back whole."""
    sessions = StoreSessions(tenant)
    files, place = folder / "in", folder / "imports"
    if any(path.exists() for path in before) or not _ended(place):
        await import_transcripts(sessions, LegacySource(), files, place, moves=True)
    transcripts = {path.stem: raw for path, raw in before.items() if path.suffix == ".jsonl"}
    for session_id, raw in transcripts.items():
        whole = [line for line in raw.splitlines(keepends=True) if line.endswith(b"\n")]
        events = (await tenant.read(session_id))[1:]
        assert [event.payload + b"\n" for event in events] == whole, session_id
        assert (await tenant.verification.session(session_id)).problem is None
    for number in range(HOT):
        assert (await tenant.keys.get(f"agent:main:k{number}")).session_id == f"s{number}"
    records = [path for path in place.iterdir() if (path / "manifest.json").exists()]
    assert not [path for path in before if path.exists()], "a file was not moved"
    kept: dict[Path, bytes] = {}
    made: set[str] = set()
    for record in records:
        manifest = json.loads((record / "manifest.json").read_bytes())
        made |= manifest["made"].keys()
        for each in manifest["files"]:
            raw = (record / each["archive"]).read_bytes()
            assert (each["size"], each["sha256"]) == (len(raw), sha256(raw).hexdigest())
            kept[Path(each["source"])] = raw
    assert kept == before, "the manifest does not say what there was"
    assert made == transcripts.keys()
    assert len(records) == 1, "one import, however often it was killed"
    undone = await undo_import(sessions, records[0])
    assert sorted(undone.sessions) == sorted(transcripts)
    restore_files(records[0])
    assert {path: path.read_bytes() for path in sorted(files.rglob("*")) if path.is_file()} == before
    assert (await tenant.sessions.list()).sessions == []


def _ended(place: Path) -> bool:
    return any("endedAt" in json.loads(path.read_bytes()) for path in place.glob("*/manifest.json"))
