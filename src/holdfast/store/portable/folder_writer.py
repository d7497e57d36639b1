"""Writes a session's folder, and goes on with one that was begun.

Lines are appended, documents are replaced whole. `metadata.json` is written last, after the lines are on the disk,
and says up to which event they are complete; a later writer goes on from there, or from the last lines that it
finds. A line that was torn by a crash is cut off and written again.
"""

import contextlib
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from holdfast.core import Event, Session, State, strict_json
from holdfast.core.errors import InvalidInput, InvalidJson
from holdfast.core.ids import check_session_id
from holdfast.store.portable.durable import lock, replacing, sync_folder, writing
from holdfast.store.portable.files_layout import (
    ACTIONS,
    FINAL,
    INITIAL,
    METADATA,
    RESPONSES,
    STATE,
    encode_document,
    encode_entry,
    encode_metadata,
    encode_state,
    file_of,
)
from holdfast.store.portable.refusal import refuse

BLOCK = 64 * 1024
EXPORTED = "exported"


class LineFile:
    """A .jsonl that is appended to: its size, and the seq of its last complete line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with writing(path):
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        self._file: IO[bytes] = os.fdopen(file, "r+b")
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InvalidInput(f"{path} is not a regular file", path=str(path))
            lock(file, path)
            line, self.size = last_line(self._file)
            self.seq = _seq_of(line, path) if line else 0
            self._waiting = bytearray()
            self._written = self.size
            with writing(path):
                self._file.truncate(self.size)
        except BaseException:
            self._file.close()
            raise

    def append(self, line: bytes, seq: int) -> None:
        """Add a line, unless the file has it already."""
        if seq > self.seq:
            self._waiting += line
            self.seq, self.size = seq, self.size + len(line)
            if len(self._waiting) >= BLOCK:
                self.flush()

    def flush(self, *, sync: bool = False) -> None:
        """Let readers see what was added; with `sync`, also a power cut does not take it away."""
        with writing(self._path):
            self._write()
            if sync:
                os.fsync(self._file.fileno())

    def _write(self) -> None:
        """Write whole lines. If the disk takes some of their bytes only, those are taken back: half a line is none."""
        file, rest = self._file.fileno(), memoryview(bytes(self._waiting))
        try:
            os.lseek(file, self._written, os.SEEK_SET)
            while rest:
                rest = rest[os.write(file, rest) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, self._written)
            raise
        self._written += len(self._waiting)
        self._waiting.clear()

    def close(self) -> None:
        """Let go of the file."""
        with writing(self._path):
            self._file.close()


class FolderWriter:
    """The folder `sessions/<id>` under a root, one writer at a time; `seq` is the event after which to go on.

    With `one_file` responses are lines of `actions.jsonl`, for readers that know only that file.
    """

    def __init__(self, root: Path, session_id: str, *, one_file: bool = False) -> None:
        self.path = root / "sessions" / check_session_id(session_id)
        self._session_id = session_id
        with writing(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.is_symlink():
                raise InvalidInput(f"{self.path} is a symbolic link", path=str(self.path))
        self._files: dict[str, LineFile] = {}
        self._check_layout((ACTIONS,) if one_file else (ACTIONS, RESPONSES))
        try:
            for name in (ACTIONS,) if one_file else (ACTIONS, RESPONSES):
                self._files[name] = LineFile(self.path / name)
            self.seq = max(min(file.seq for file in self._files.values()), self._exported())
        except BaseException:
            self._let_go()
            raise

    def __enter__(self) -> "FolderWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_go()

    def event(self, event: Event) -> None:
        """Add the next event of the log, whatever its type; those that are there already change nothing."""
        if event.seq <= self.seq:
            return
        if event.seq != self.seq + 1:
            raise InvalidInput(f"event {event.seq} cannot come after event {self.seq} of session {self._session_id!r}")
        name = file_of(event)
        if name is not None:
            name = name if name in self._files else ACTIONS
            self._files[name].append(encode_entry(event, name), event.seq)
        self.seq = event.seq

    def flush(self) -> None:
        """Let readers see the lines that were added."""
        for file in self._files.values():
            file.flush()

    def documents(self, session: Session, state: State) -> None:
        """Write the documents as they are now; everything added before is on the disk then."""
        for file in self._files.values():
            file.flush(sync=True)
        contents = {STATE: encode_state(state), INITIAL: encode_document(session.initial)}
        if session.final is not None:
            contents[FINAL] = encode_document(session.final)
        sizes = {name: file.size for name, file in self._files.items()}
        contents[METADATA] = encode_metadata(session, **{EXPORTED: {"seq": self.seq, "bytes": sizes}})
        for name, content in contents.items():
            with replacing(self.path / name) as out:
                out.write(content)
        with writing(self.path):
            sync_folder(self.path.parent)

    def _check_layout(self, names: tuple[str, ...]) -> None:
        """InvalidInput if the folder was written with other files."""
        try:
            there = set(self._metadata()[EXPORTED]["bytes"])
        except (TypeError, KeyError):
            return
        if there != set(names):
            raise InvalidInput(
                f"{self.path} was exported in another layout, with {', '.join(sorted(there))}",
                hint="export to another folder, or remove this one",
            )

    def _metadata(self) -> Any:
        return _read_metadata(self.path)

    def _exported(self) -> int:
        """Up to which event the lines are complete by `metadata.json`; 0 if it does not fit the files."""
        return _complete(self._metadata(), {name: file.size for name, file in self._files.items()})

    def _let_go(self) -> None:
        with contextlib.ExitStack() as stack:
            for file in self._files.values():
                stack.callback(file.close)


def exported_seq(folder: Path) -> int:
    """Up to which event a session's folder says that it is complete, and could be; 0 if it says nothing."""
    try:
        sizes = {path.name: path.lstat().st_size for path in folder.glob("*.jsonl")}
    except OSError:
        return 0
    return _complete(_read_metadata(folder), sizes)


def last_line(file: IO[bytes]) -> tuple[bytes, int]:
    """The last complete line of a file, without its end, and where it ends; empty and 0 if there is none."""
    end = file.seek(0, os.SEEK_END)
    tail = b""
    parts: list[bytes] = []
    whole = 0
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        tail = file.read(end - start)
        if not whole and b"\n" in tail:
            cut = tail.rindex(b"\n")
            whole = start + cut + 1
            tail = tail[:cut]
        if whole:
            before, found, after = tail.rpartition(b"\n")
            parts.append(after if found else before + after)
            if found:
                break
        end = start
    return b"".join(reversed(parts)), whole


def _read_metadata(folder: Path) -> Any:
    with contextlib.suppress(OSError, InvalidJson):
        return strict_json.parse((folder / METADATA).read_bytes())
    return None


def _complete(metadata: Any, sizes: dict[str, int]) -> int:
    """The seq that metadata says, if the files have at least the sizes that it says; else 0."""
    try:
        exported = metadata[EXPORTED]
        complete = all(size >= exported["bytes"][name] for name, size in sizes.items())
        return int(exported["seq"]) if complete else 0
    except (TypeError, KeyError, ValueError):
        return 0


def _seq_of(line: bytes, path: Path) -> int:
    try:
        found = strict_json.parse(line)
        seq = found.get("seq", found.get("logSeq"))
    except (InvalidJson, AttributeError):
        seq = None
    if not isinstance(seq, int) or isinstance(seq, bool) or seq < 1:
        raise refuse(
            "line", "the last line has no seq: an export did not write it, and cannot go on after it", path.name
        )
    return seq
