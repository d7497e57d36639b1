"""The file of a project's memories: every version of each, in one JSON object that is there whole or not at all.

Whoever changes it holds a lock from reading to writing, so that of two processes neither loses what the other wrote.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from holdfast.core import strict_json
from holdfast.core.durable_files import make_folder, remove_temporaries, write_whole, writing
from holdfast.core.errors import Corrupt, InvalidJson, SchemaUnknown
from holdfast.runtime.conversation.known_types import look_at

FORMAT = 1


class KeptVersion(msgspec.Struct, omit_defaults=True):
    """One version; `value` is its JSON as it was given, in a text."""

    version: int
    created_at: int
    value: str | None = None
    digest: str | None = None
    source: str | None = None
    erased_at: int | None = None


class KeptMemory(msgspec.Struct):
    """A memory with all its versions, and which version each idempotency key stands for."""

    namespace: str
    key: str
    live: bool
    versions: list[KeptVersion]
    keys: dict[str, int] = {}


class MemoryDocument(msgspec.Struct):
    """What the file holds, in the order in which the memories were made."""

    format: int = FORMAT
    memories: list[KeptMemory] = []

    def find(self, namespace: str, key: str) -> KeptMemory | None:
        """The memory of this name, or None."""
        return next((each for each in self.memories if (each.namespace, each.key) == (namespace, key)), None)


look_at(MemoryDocument)


class MemoryFile:
    """`.holdfast/memory.json` of a project."""

    def __init__(self, project_root: Path) -> None:
        home = project_root / ".holdfast"
        self.path = home / "memory.json"
        self._lock = home / "state" / "memory.lock"

    def read(self) -> MemoryDocument:
        """What is remembered now; Corrupt if it cannot be read."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return MemoryDocument()
        try:
            found = msgspec.convert(strict_json.parse(raw), MemoryDocument)
        except (InvalidJson, msgspec.ValidationError) as error:
            raise Corrupt(
                f"{self.path} is not what was written: {error}", hint="restore it; nothing changed"
            ) from error
        if found.format > FORMAT:
            raise SchemaUnknown(f"{self.path} was written by a newer Holdfast (format {found.format})")
        return found

    @contextmanager
    def changing(self) -> Iterator[MemoryDocument]:
        """What is remembered now, to be changed: what it is at the end is written, durably, unless it is the same."""
        make_folder(self._lock.parent)
        with writing(self._lock):
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            document = self.read()
            before = msgspec.json.encode(document)
            yield document
            after = msgspec.json.encode(document)
            if after != before:
                remove_temporaries(self.path)
                write_whole(self.path, after)
        finally:
            os.close(lock)
