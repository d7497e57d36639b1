"""Sessions in our older layout, imported when a gateway starts, before it answers anything.

Hot sessions, those that a key routes to, arrive; the others are counted and told, and arrive by `sessions import` only.
A session that is here already, or was deleted here, is left alone: the store is the truth. The files are only read.
Several gateways of one store may start at once: each session is imported once, and all of them wait until it is there.
"""

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path

from holdfast.core.errors import NotFound, SessionArriving, SessionGone
from holdfast.gateway.wire.upkeep import LegacyView
from holdfast.store import Store

log = logging.getLogger("holdfast.gateway")

IMPORTS = "imports"
AGENTS = "agents"


async def import_hot_sessions(store: Store, folder: Path, place: Path) -> LegacyView | None:
    """Import the hot sessions below a folder, on record in `place`; None if nothing there has our older layout."""
    if not await asyncio.to_thread((folder / AGENTS).is_dir):
        return None
    from holdfast.transcripts import RefusedTranscript, Transcript
    from holdfast.transcripts.legacy import LegacySource

    found, unreferenced = await asyncio.to_thread(LegacySource().survey, folder)
    if not found and not unreferenced:
        return None
    hot = [each for each in found if isinstance(each, Transcript)]
    view = LegacyView(str(folder), 0, 0, unreferenced, 0)
    if view.unreferenced:
        log.info("%d legacy sessions have no key: holdfast sessions import %s brings them", view.unreferenced, folder)
    _refuse(view, (each.reason for each in found if isinstance(each, RefusedTranscript)))
    new = [each for each in hot if not await _is_known(store, each.session_id)]
    view.there_before = len(hot) - len(new)
    _refuse(view, (f"{each.files[0]} is not there" for each in new if not each.files[0].exists()))
    await _import(store, folder, place, {each.session_id for each in new if each.files[0].exists()}, view)
    return view


async def _import(store: Store, folder: Path, place: Path, missing: set[str], view: LegacyView) -> None:
    """Import the sessions that are missing, and wait for those that others import."""
    from holdfast.transcripts import import_transcripts
    from holdfast.transcripts.legacy import LegacySource
    from holdfast.transcripts.store_sessions import StoreSessions

    if missing:
        source = LegacySource(hot_only=True, only=frozenset(missing))
        done = await import_transcripts(StoreSessions(store), source, folder, place)
        log.info("%d legacy sessions were imported: %s", len(done.sessions), done.record)
        view.imported, view.there_before = len(done.sessions), view.there_before + len(done.there_before)
        for note in done.notes.first:
            log.warning("%s, line %d: %s", note.file, note.line, note.message)
        _refuse(view, (each.reason for each in done.refused))


def _refuse(view: LegacyView, reasons: Iterable[str]) -> None:
    for reason in reasons:
        view.refused += 1
        log.warning("a legacy session was not imported: %s", reason)


async def _is_known(store: Store, session_id: str) -> bool:
    """Whether there is such a session, or was one."""
    try:
        await store.sessions.get(session_id)
    except SessionGone:
        return True
    except (NotFound, SessionArriving):
        return False
    return True
