"""Writes an archive: whole sessions with their exact bytes, attachments and memories in one file.

Everything is added one by one and in order; memory stays bounded by one event or segment. Each event's hash is
derived again on the way, so an archive that was completed holds unbroken logs.
"""

import contextlib
import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from holdfast.core import Event, strict_json
from holdfast.core.chain import GENESIS, seal, seal_digest
from holdfast.core.errors import Corrupt, HoldfastError, InvalidInput, TooLarge
from holdfast.store.portable import members
from holdfast.store.portable.durable import replacing
from holdfast.store.portable.limits import DEFAULT, Limits
from holdfast.store.portable.lines import (
    SessionHeader,
    breaks_line,
    decode_header,
    encode_event,
    encode_header,
    hash_of,
)
from holdfast.store.portable.manifest import OPENING, ManifestMember, Totals, encode_listed, encode_totals
from holdfast.store.portable.zip_writer import IN_MEMORY, LEVEL, Sink, ZipWriter

COPY = 64 * 1024


class SessionWriter:
    """Takes the events of one session, in order."""

    def __init__(self, archive: "ArchiveWriter", header: SessionHeader) -> None:
        self._archive = archive
        self._header = header
        self._seq = 0
        self._hash = GENESIS

    def event(self, event: Event) -> None:
        """Add the next event; Corrupt if it is not the one that must follow."""
        if event.seq != self._seq + 1:
            raise self._corrupt(f"event {event.seq} comes after event {self._seq}", event.seq)
        seen = (self._hash, event.seq, event.event_id, event.type, event.parent_id, event.created_at)
        found = seal(*seen, event.payload) if event.erased is None else seal_digest(*seen, event.erased)
        if found != event.hash:
            raise self._corrupt(f"event {event.seq} does not follow from the one before", event.seq)
        self._archive._line(encode_event(event))
        self._seq, self._hash = event.seq, found

    def check_complete(self) -> None:
        """Corrupt unless the events so far end with the header's head."""
        if (self._seq, self._hash) != (self._header.head_seq, self._header.head_hash):
            raise self._corrupt(f"the log ends with event {self._seq}, not with the head that its row says", self._seq)

    def _corrupt(self, message: str, seq: int) -> Corrupt:
        session_id = self._header.session_id
        return Corrupt(f"session {session_id!r}: {message}", session_id=session_id, seq=seq)


class ArchiveWriter:
    """An archive on its way into a sink: sessions, then attachments, then memories. Leaving it completes it."""

    def __init__(self, sink: Sink, limits: Limits = DEFAULT, *, level: int = LEVEL) -> None:
        self._zip = ZipWriter(sink, level)
        self._limits = limits
        self._manifest: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 (closed with the archive)
        self._totals = Totals()
        self._order = members.MemberOrder()
        self._open: str | None = None
        self._size = 0
        self._sha256 = hashlib.sha256()
        self._lines = 0
        self._last_session = ""
        self._done = False
        try:
            self._manifest.write(OPENING)
            with self._member(members.HEADER):
                self._write(members.encode_archive_header())
        except BaseException:
            self._abandon()
            raise

    def __enter__(self) -> "ArchiveWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._abandon()

    @contextlib.contextmanager
    def session(self, header: SessionHeader) -> Iterator[SessionWriter]:
        """Begin the next session; ids ascend. On leaving, its log must have reached the header's head."""
        line = encode_header(header)
        decode_header(line)
        if header.session_id <= self._last_session:
            raise InvalidInput(f"session {header.session_id!r} cannot come after {self._last_session!r}: ids ascend")
        about = {"session_id": header.session_id, "events": header.head_seq, "head_hash": header.head_hash.hex()}
        with self._member(members.session_member(self._totals.sessions + 1), about):
            self._line(line)
            writer = SessionWriter(self, header)
            yield writer
            writer.check_complete()
        self._last_session = header.session_id

    def attachment(self, digest: str, chunks: Iterable[bytes]) -> None:
        """Add the bytes with this SHA-256 (hex); digests ascend. Corrupt if the bytes have another."""
        hash_of(digest)
        with self._member(members.attachment_member(digest)):
            for chunk in chunks:
                self._write(chunk)
            if self._sha256.hexdigest() != digest:
                raise Corrupt(f"the bytes of attachment {digest} have another SHA-256", digest=digest)

    def memory(self, line: bytes) -> None:
        """Add one memory: a JSON value without line breaks."""
        strict_json.check(line)
        if breaks_line(line):
            raise InvalidInput("a memory with a line break cannot be a line")
        if self._open != members.MEMORIES:
            self._begin(members.MEMORIES)
        self._line(line)

    def close(self) -> Totals:
        """Write the manifest and the directory; what the archive holds."""
        if self._done:
            return self._totals
        if self._open == members.MEMORIES:
            self._end({"lines": self._lines})
        totals = self._totals
        self._manifest.write(encode_totals(totals))
        self._manifest.seek(0)
        self._begin(members.MANIFEST)
        while chunk := self._manifest.read(COPY):
            self._write(chunk)
        self._zip.end()
        self._zip.close()
        self._manifest.close()
        self._done = True
        return totals

    def _abandon(self) -> None:
        self._zip.abandon()
        self._manifest.close()

    @contextlib.contextmanager
    def _member(self, name: str, about: dict[str, Any] | None = None) -> Iterator[None]:
        self._begin(name)
        yield
        self._end(about or {})

    def _begin(self, name: str) -> None:
        """An error in the middle of a member leaves it open, and nothing can be added after it."""
        if self._open is not None or self._done:
            raise InvalidInput(f"{name} cannot be added: {self._open or 'the archive'} is not open to it")
        self._order.follow(name.encode(), name)
        if self._totals.members + 2 > self._limits.members and name != members.MANIFEST:
            raise _too_large(f"more than {self._limits.members} members", self._limits.members)
        self._open, self._size, self._sha256, self._lines = name, 0, hashlib.sha256(), 0
        self._zip.begin(name)

    def _write(self, data: bytes) -> None:
        self._size += len(data)
        if self._totals.bytes + self._size > self._limits.inflated_bytes:
            raise _too_large(f"more than {self._limits.inflated_bytes} bytes", self._limits.inflated_bytes)
        self._sha256.update(data)
        self._zip.write(data)

    def _line(self, line: bytes) -> None:
        if len(line) > self._limits.line_bytes:
            raise _too_large(f"a line of {len(line)} bytes", self._limits.line_bytes)
        self._lines += 1
        self._write(line)
        self._write(b"\n")

    def _end(self, about: dict[str, Any]) -> None:
        assert self._open is not None
        self._zip.end()
        listed = ManifestMember(self._open, self._size, self._sha256.hexdigest(), **about)
        self._manifest.write(encode_listed(listed, first=not self._totals.members))
        self._totals = self._totals.plus(listed)
        self._open = None


@contextlib.contextmanager
def write_archive(path: Path, limits: Limits = DEFAULT) -> Iterator[ArchiveWriter]:
    """An archive that stands at `path`, complete and on the disk, once this is left without an error."""
    with replacing(path) as file, ArchiveWriter(file, limits) as archive:
        yield archive


def _too_large(what: str, limit: int) -> HoldfastError:
    return TooLarge(f"{what} in one archive", limit=limit, hint="export fewer sessions at once, or raise the limit")
