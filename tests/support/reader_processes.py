"""Imports that a second process reads for: something to import that no pipe holds, and how to find that process."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.support.legacy_layout import conversation, write_index, write_session

from holdfast.prove.leash import descendants
from holdfast.store import Store
from holdfast.transcripts import TranscriptImport, import_transcripts
from holdfast.transcripts.legacy import LegacySource
from holdfast.transcripts.store_sessions import StoreSessions

PROGRAM = b"holdfast.transcripts.reader"
APART = 0
"""Every import is large enough to have such a process."""
ALONE = 1 << 60
"""None is."""
SESSIONS = 24
TEXT = "what was said " * 15_000
"""24 sessions of two such texts are several times what the process can be ahead."""


def lay_out_much(folder: Path, text: str = TEXT) -> dict[str, list[bytes]]:
    """Write sessions of the older layout; their lines."""
    lines = {f"s{number:02}": conversation(f"s{number:02}", f"{number} {text}", text) for number in range(SESSIONS)}
    for session_id, said in lines.items():
        write_session(folder, session_id, said)
    write_index(folder, {"agent:main:k0": "s00"})
    return {session_id: [line.encode() for line in said] for session_id, said in lines.items()}


def readers_of(pid: int) -> list[int]:
    """The processes below one that read transcripts."""
    return [each for each in descendants(pid) if is_reader(each)]


def is_reader(pid: int) -> bool:
    """Whether a process is such a one, and lives."""
    with suppress(OSError):
        return PROGRAM in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


async def import_apart(
    store: Store, folder: Path, progress: Callable[[int, int], None] | None = None, *, apart: int = APART
) -> TranscriptImport:
    """Import `in` of a folder, with its record beside it."""
    place = folder / "imports"
    return await import_transcripts(
        StoreSessions(store), LegacySource(), folder / "in", place, progress, pack=2, apart=apart
    )


async def lines_here(store: Store) -> dict[str, list[bytes]]:
    """The lines of every session of a store, each session checked."""
    found: dict[str, list[bytes]] = {}
    for session in (await store.sessions.list(limit=100)).sessions:
        assert (await store.verification.session(session.session_id)).problem is None
        found[session.session_id] = [event.payload for event in (await store.read(session.session_id))[1:]]
    return found


def kill_readers(signal_number: int) -> list[int]:
    """Kill the processes that read for this one."""
    killed = readers_of(os.getpid())
    for pid in killed:
        os.kill(pid, signal_number)
    return killed
