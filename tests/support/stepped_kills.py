"""Kill a process in the middle of a stepwise operation, again and again; then look at what is there.

An import goes into a tenant of its own each time, named as the session would be.
"""

import asyncio
import os
import random
import time
from collections import Counter
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from tests.support.interrupted import Mortal
from tests.support.material import numbered
from tests.support.processes import spawn
from tests.support.steps import number_of, ownerless, rows, where

from holdfast.core.errors import NotFound, SessionGone
from holdfast.store import Event, Store, StoreTuning, open_store

EVENTS = 600
STEP = 50
ARCHIVE = "source.holdfast"
"""A step's events in the killed process: twelve steps."""
OPERATIONS = ("fork", "delete", "undelete", "purge", "import")
OF_A_SESSION = {"delete", "undelete", "purge"}
"""Operations on a session that is there, or was."""
EVERY_PLACE = 32
"""In so many kills each place between two writes has its turn, and as many kills come at random moments."""

MOVING = """
    SELECT 1 FROM sessions WHERE life IN ('arriving', 'leaving', 'returning') UNION ALL
    SELECT 1 FROM archives WHERE state = 'purging'"""
STRAY_WORDS = "SELECT 1 FROM event_text t WHERE t.rowid > 0 AND t.rowid NOT IN (SELECT pos FROM transcript_events)"


def operate(url: str, operation: str, session_id: str, note: str, writes: int | None) -> None:
    """Do one operation on a session, saying when it has begun; be killed after so many writes, or from outside."""

    async def run() -> None:
        store = await open_store(url, tuning=StoreTuning(step_events=STEP, together_events=STEP))
        part: Any = {
            "fork": store.forks,
            "delete": store.deletion,
            "undelete": store.undeletion,
            "purge": store.archives,
            "import": store.for_tenant(session_id).importing,
        }[operation]
        if writes is not None:
            part = replace(part, workers=Mortal(part.workers, writes))
        descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

        def progress(_done: int, _of: int) -> None:
            os.write(descriptor, b"step\n")

        if operation == "fork":
            await part.fork("source", new_session_id=session_id, progress=progress)
        elif operation == "delete":
            await part.delete(session_id, progress=progress)
        elif operation == "undelete":
            await part.undelete(session_id, progress=progress)
        elif operation == "import":
            await part.archive(Path(note).with_name(ARCHIVE), told=lambda _name, events: progress(0, events))
        else:
            await part.purge(session_id, progress=progress)
        os.write(descriptor, b"done\n")
        await asyncio.Event().wait()  # killed in any case

    asyncio.run(run())


async def kill_in_steps(url: str, folder: Path, operation: str, kills: int, *, seed: int = 20261115) -> Counter[str]:
    """Kill the operation so often, at a chosen step or at a random moment; how often it came to which end."""
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    async with await open_store(url) as store:
        await store.append("source", numbered(*range(EVENTS)))
        before = await store.read("source")
        if operation == "import":
            await store.exporting.archive(folder / ARCHIVE)
        for cycle in range(kills if operation in OF_A_SESSION else 0):
            await store.forks.fork("source", new_session_id=f"s{cycle}")
            if operation != "delete":
                await store.deletion.delete(f"s{cycle}")
    for cycle in range(kills):
        session_id = f"s{cycle}"
        note = folder / f"{operation}-{cycle}"
        writes = (cycle // 2 * 5 + 3) % 16 if cycle % 2 else None  # see EVERY_PLACE
        child = spawn(operate, url, operation, session_id, str(note), writes)
        await asyncio.to_thread(_kill, child, note, chance.random() * 0.06 if writes is None else None)
        async with await open_store(url) as store:
            await store.declare_all_dead()
            ends[await _look(store, folder, operation, session_id, before)] += 1
            if cycle + 1 == kills:
                assert await store.verification.files() == []
    return ends


def _kill(child: ForkServerProcess, note: Path, pause: float | None) -> None:
    """Wait until the child has begun, and for a moment more, or until it has ended or killed itself."""
    deadline = time.monotonic() + 60
    while child.is_alive() and time.monotonic() < deadline:
        said = note.read_bytes() if note.exists() else b""
        if (pause is not None and said) or b"done" in said:
            time.sleep(pause or 0)
            break
        time.sleep(0.001)
    child.kill()
    child.join()


async def _look(store: Store, folder: Path, operation: str, session_id: str, before: list[Event]) -> str:
    """Assert that what was interrupted is whole or gone, never half; which of them."""
    number = await number_of(store, session_id)
    if operation in OF_A_SESSION:
        assert number is not None
        log, archive = await where(store, number)
        both = sorted(archive + log)
        assert len(both) == len(set(both)), "an event in two places"
        if operation != "purge":
            assert both == list(range(1, len(both) + 1)), "an event in no place"
            assert len(both) in range(EVENTS + 1, EVENTS + 4)
    async with asyncio.timeout(60):
        while await rows(store, MOVING):
            await asyncio.sleep(0.02)
    assert await ownerless(store) == []
    assert await rows(store, STRAY_WORDS) == []
    assert await store.read("source") == before
    if operation == "import":
        return await _import(store.for_tenant(session_id), folder / ARCHIVE, before)
    if operation == "undelete":
        return await _undelete(store, session_id, before)
    return await _fork(store, session_id, before) if operation == "fork" else await _rest(store, session_id, before)


async def _import(tenant: Store, archive: Path, before: list[Event]) -> str:
    end = "finished" if (await tenant.sessions.list()).sessions else "undone"
    again = await tenant.importing.archive(archive)
    assert (again.sessions, again.there_before) == (([], ["source"]) if end == "finished" else (["source"], []))
    assert await tenant.read("source") == before
    assert (await tenant.verification.session("source")).problem is None
    return end


async def _fork(store: Store, session_id: str, before: list[Event]) -> str:
    try:
        end = "finished"
        await store.sessions.get(session_id)
    except NotFound:
        end = "undone"
        await store.forks.fork("source", new_session_id=session_id)
    assert (await store.read(session_id))[:EVENTS] == before
    assert (await store.verification.session(session_id)).problem is None
    return end


async def _undelete(store: Store, session_id: str, before: list[Event]) -> str:
    end = await _rest(store, session_id, before)
    if end == "archived":
        await store.undeletion.undelete(session_id)
        assert await _rest(store, session_id, before) == "not begun"
    types = [event.type for event in await store.read(session_id, after=EVENTS)]
    assert types == ["holdfast.session_forked", "holdfast.session_deleted", "holdfast.session_restored"]
    return "archived" if end == "archived" else "restored"


async def _rest(store: Store, session_id: str, before: list[Event]) -> str:
    try:
        assert (await store.read(session_id))[:EVENTS] == before
        assert (await store.verification.session(session_id)).problem is None
        return "not begun"
    except SessionGone:
        pass
    if (await store.archives.get(session_id)).purged_at is not None:
        assert (await where(store, await number_of(store, session_id) or 0))[1] == []
        return "purged"
    assert [event async for event in store.archives.events(session_id)][:EVENTS] == before
    return "archived"
