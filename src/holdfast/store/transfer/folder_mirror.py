"""A root folder that is kept as a source's sessions are: `sessions/<id>` for each that is there, and for no other.

What was deleted goes, and a folder whose lines say what was erased since is written anew. Each step can be
interrupted at any moment: a folder says that it is complete only when it is, and whoever comes next goes on. One writer
at a time. A file in the root says of which history of which store the folders are: those of another are never gone on
with.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from holdfast.core import strict_json
from holdfast.core.durable_files import make_folder, sync_folder, write_whole, writing
from holdfast.core.errors import BadArchive, InvalidInput, InvalidJson, StorageFull
from holdfast.core.ids import check_session_id
from holdfast.store.portable import exported_seq
from holdfast.store.portable.durable import lock
from holdfast.store.transfer.folder_exports import ExportSource, LinesOutdated, SessionExport, export_folder

SESSIONS = "sessions"
MARK = ".holdfast-files.json"
INCOMING = ".incoming"
OUTGOING = ".outgoing"
ATTEMPTS = 5
"""How often a session is written anew that has events erased while it is written."""


class FolderMirror:
    """The root; inside its `with` nobody else writes there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._file: int | None = None

    def prepare(self) -> None:
        """Make the root ours, if it is new or empty; InvalidInput if others have put something there."""
        make_folder(self.root)
        if (self.root / MARK).exists():
            return
        with writing(self.root):
            if any(self.root.iterdir()):
                raise InvalidInput(
                    f"{self.root} has files that were not written here",
                    hint="name a new or an empty folder: what is no session any more is removed from it",
                    path=str(self.root),
                )
        self._mark(None)

    def __enter__(self) -> "FolderMirror":
        self.prepare()
        with writing(self.root):
            self._file = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            lock(self._file, self.root)
            if (self.root / SESSIONS).is_symlink():
                raise InvalidInput(f"{self.root / SESSIONS} is a symbolic link", path=str(self.root))
            for name in (SESSIONS, INCOMING, OUTGOING):
                make_folder(self.root / name)
            self._empty(INCOMING)
            make_folder(self.root / INCOMING / SESSIONS)
            self._empty(OUTGOING)
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        os.close(self._file)

    def adopt(self, history: str) -> None:
        """Keep what is there only if it is of this history of a store."""
        if self._marked() == history:
            return
        self._mark(None)
        with writing(self.root):
            (self.root / SESSIONS).rename(self._way_out())
            make_folder(self.root / SESSIONS)
        self._empty(OUTGOING)
        self._mark(history)

    def session_ids(self) -> Iterator[str]:
        """Those whose folders are there."""
        with writing(self.root), os.scandir(self.root / SESSIONS) as entries:
            for entry in entries:
                with contextlib.suppress(InvalidInput):  # what nobody can have as an id is not ours
                    yield check_session_id(entry.name)

    def reached(self, session_id: str) -> int:
        """Up to which event of its log a session's folder is complete; 0 if it is not there."""
        return exported_seq(self._path(session_id))

    async def bring(self, source: ExportSource, session_id: str) -> int:
        """Bring a session's folder up to now, or remove it if there is no such session; the seq that it has reached."""
        try:
            done = await export_folder(source, self.root, session_id, must_exist=False, one_file=True, exact=True)
        except StorageFull:
            raise
        except (LinesOutdated, InvalidInput, BadArchive):
            done = await self._anew(source, session_id)
        if done is None:
            await asyncio.to_thread(self.remove, session_id)
        return done.seq if done else 0

    def remove(self, session_id: str) -> None:
        """Remove a session's folder at once, whatever it is by now."""
        with writing(self._path(session_id)):
            gone = self._way_out()
            try:
                self._path(session_id).rename(gone)
            except FileNotFoundError:
                return
            _remove(gone)

    async def _anew(self, source: ExportSource, session_id: str) -> SessionExport | None:
        """Write a session's folder beside, and put it in the place of the one that is there."""
        fresh = self.root / INCOMING / SESSIONS / check_session_id(session_id)
        for _ in range(ATTEMPTS):
            _remove(fresh)
            try:
                done = await export_folder(
                    source, self.root / INCOMING, session_id, must_exist=False, one_file=True, exact=True
                )
            except LinesOutdated:
                continue
            if done is not None:
                await asyncio.to_thread(self._put, fresh, session_id)
            return done
        raise InvalidInput(f"session {session_id!r} has events erased again and again: its folder is left as it was")

    def _put(self, fresh: Path, session_id: str) -> None:
        self.remove(session_id)
        with writing(self._path(session_id)):
            fresh.rename(self._path(session_id))
            sync_folder(self.root / SESSIONS)

    def _path(self, session_id: str) -> Path:
        return self.root / SESSIONS / check_session_id(session_id)

    def _way_out(self) -> Path:
        return self.root / OUTGOING / secrets.token_hex(8)

    def _empty(self, name: str) -> None:
        for path in (self.root / name).iterdir():
            _remove(path)

    def _mark(self, history: str | None) -> None:
        write_whole(self.root / MARK, strict_json.dump({"history": history}) + b"\n")

    def _marked(self) -> str | None:
        try:
            found = strict_json.parse((self.root / MARK).read_bytes())
        except (OSError, InvalidJson):
            return None
        return found.get("history") if isinstance(found, dict) else None


def _remove(path: Path) -> None:
    """Remove a folder with all that is in it, or the link or file that is there instead."""
    with writing(path), contextlib.suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
