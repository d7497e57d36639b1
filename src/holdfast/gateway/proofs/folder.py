"""Runs that lie in a folder of evidence: `<folder>/<kind>/<time>/summary.json`, the newest of them, read only.

No link is followed below the folder, and no name of a client is made into a path: a run's id is a digest of where it
lies, looked up among those that were found. What is no summary is passed over.
"""

import asyncio
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from holdfast.core import HoldfastError
from holdfast.core.errors import NotFound
from holdfast.gateway.operations.single_flight import SingleFlight
from holdfast.gateway.proofs.summaries import view_of
from holdfast.gateway.wire.proofs import ProofView
from holdfast.store.operators import LARGEST_PROOF

MOST_RUNS = 200
MOST_KINDS = 20
MOST_ENTRIES = 20_000
"""Of one folder that are looked at."""
FRESH_SECONDS = 2.0
SUMMARY = "summary.json"
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RunPlace(NamedTuple):
    """Where a run lies, and what its file was when it was read."""

    kind: str
    run: str
    mark: tuple[int, int, int]


class FoundRun(NamedTuple):
    """A run as it was last read; no view if it is no summary."""

    place: RunPlace
    view: ProofView | None


class ProofFolder:
    """The runs of one folder; None has none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[str, FoundRun] = {}
        self._scan = SingleFlight(self._look, FRESH_SECONDS)

    async def runs(self) -> list[ProofView]:
        """The runs that there are, in no order."""
        return [] if self._folder is None else await self._scan.get()

    async def get(self, proof_id: str) -> bytes:
        """The whole summary of a run; NotFound if it is not among those that are listed."""
        await self.runs()
        known = self._known.get(proof_id)
        raw = None if known is None or known.view is None else await asyncio.to_thread(self._read, known.place)
        if raw is None:
            raise NotFound("there is no such run", hint="it may have been removed from its folder")
        return raw

    async def _look(self) -> list[ProofView]:
        return await asyncio.to_thread(self._all)

    def _all(self) -> list[ProofView]:
        found: dict[str, FoundRun] = {}
        for kind, run in self._newest():
            proof_id = id_of(kind, run)
            known = self._known.get(proof_id)
            seen = self._view(kind, run, proof_id, known)
            if seen is not None:
                found[proof_id] = seen
        self._known = found
        return [each.view for each in found.values() if each.view is not None]

    def _newest(self) -> list[tuple[str, str]]:
        """The kinds and names of the newest runs: names begin with the time."""
        assert self._folder is not None
        runs: list[tuple[str, str]] = []
        for kind in sorted(_folders(self._folder))[:MOST_KINDS]:
            runs += [(kind, run) for run in sorted(_folders(self._folder / kind), reverse=True)[:MOST_RUNS]]
        return sorted(runs, key=lambda each: each[1], reverse=True)[:MOST_RUNS]

    def _view(self, kind: str, run: str, proof_id: str, known: FoundRun | None) -> FoundRun | None:
        """What a run's summary says, read again only if it has changed."""
        try:
            with self._open(kind, run) as file:
                mark = _mark(file)
                if known is not None and known.place.mark == mark:
                    return known
                raw = _content(file)
        except OSError:
            return None
        try:
            view = None if raw is None else view_of(raw, proof_id, "folder")
        except HoldfastError:
            view = None
        return FoundRun(RunPlace(kind, run, mark), view)

    def _read(self, place: RunPlace) -> bytes | None:
        try:
            with self._open(place.kind, place.run) as file:
                raw = _content(file)
            if raw is not None:
                view_of(raw, "", "folder")
            return raw
        except (OSError, HoldfastError):
            return None

    @contextmanager
    def _open(self, *below: str) -> Iterator[int]:
        """The summary in this folder below ours; OSError if a link, or none, is on the way."""
        assert self._folder is not None
        opened = os.open(self._folder, FOLDER)
        try:
            for name in below:
                inner = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=opened)
                os.close(opened)
                opened = inner
            file = os.open(SUMMARY, FILE, dir_fd=opened)
        finally:
            os.close(opened)
        try:
            yield file
        finally:
            os.close(file)


def id_of(kind: str, run: str) -> str:
    """The id of a run that lies here."""
    return f"f-{hashlib.sha256(os.fsencode(f'{kind}/{run}')).hexdigest()[:32]}"


def _folders(folder: Path) -> list[str]:
    """The names of the folders in a folder, links not among them; none if it cannot be read."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_ENTRIES:
                    break
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    found.append(entry.name)
    except OSError:
        return []
    return found


def _mark(file: int) -> tuple[int, int, int]:
    about = os.fstat(file)
    return about.st_mtime_ns, about.st_size, about.st_ino


def _content(file: int) -> bytes | None:
    """The bytes of a plain file that is not too large."""
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST_PROOF:
        return None
    with os.fdopen(os.dup(file), "rb") as opened:
        raw = opened.read(LARGEST_PROOF + 1)
    return raw if len(raw) <= LARGEST_PROOF else None
