"""Reads an archive and believes nothing: structure at once, content while it is read.

Opening checks every record, every name, the manifest and the limits without inflating other content. Reading checks
the content: sizes, CRC and SHA-256 of a member before its last bytes are given out, every payload's JSON, every
event's hash from the one before, and the head. Memory stays bounded by one line, whatever the archive's size.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from msgspec import UNSET

from holdfast.core import strict_json
from holdfast.core.errors import BadArchive, InvalidInput
from holdfast.core.ids import check_session_id
from holdfast.store.portable import manifest, members
from holdfast.store.portable.limits import DEFAULT, Limits
from holdfast.store.portable.line_reader import Lines
from holdfast.store.portable.manifest import ManifestMember, Totals
from holdfast.store.portable.refusal import refuse, refuse_line, shown
from holdfast.store.portable.session_reader import ArchivedSession, read_session
from holdfast.store.portable.zip_reader import ZipReader
from holdfast.store.portable.zip_records import Member

MAX_HEADER = 4096


class ArchivedAttachment(NamedTuple):
    """An attachment of an archive: its SHA-256 in hex, its size, and its bytes, which can be read once."""

    digest: str
    size: int
    chunks: Iterator[bytes]


class ArchiveReader:
    """The archive at a path until `close`; BadArchive is the only error that it raises for what is in the file."""

    def __init__(self, path: Path, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._file = _open_regular(path)
        try:
            self._zip = ZipReader(self._file, limits)
            self._manifest = self._check_members()
            self.totals = Totals()
            for _, listed in self._listed():
                self.totals = self.totals.plus(listed)
            self.created_by = self._check_header()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "ArchiveReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def check(self) -> Totals:
        """Read everything once, so that what is wrong is known before anything is used; what the archive holds."""
        for session in self.sessions():
            for _ in session.events:
                pass
        for attachment in self.attachments():
            for _ in attachment.chunks:
                pass
        for _ in self.memories():
            pass
        return self.totals

    def sessions(self) -> Iterator[ArchivedSession]:
        """The sessions in the order of their ids. One's last event comes only if all of it held."""
        for member, listed in self._listed():
            if listed.session_id is not UNSET:
                yield read_session(self._lines(member, listed), listed)

    def attachments(self) -> Iterator[ArchivedAttachment]:
        """The attachments in the order of their digests. One's last bytes come only if all of it held."""
        for member, listed in self._listed():
            if listed.name.startswith("attachments/"):
                yield ArchivedAttachment(listed.sha256, listed.size, self._content(member, listed))

    def memories(self) -> Iterator[strict_json.CheckedJson]:
        """The memories, each the bytes of a JSON value."""
        for member, listed in self._listed():
            if listed.lines is not UNSET:
                lines = self._lines(member, listed)
                for line in lines:
                    if b"\r" in line:
                        raise refuse("line", "a line break within a line", lines.name, lines.number)
                    try:
                        memory = strict_json.check(line)
                    except InvalidInput as error:
                        raise refuse_line(error, lines.name, lines.number) from None
                    yield memory
                if lines.number != listed.lines:
                    raise refuse("manifest", f"has {lines.number} lines, the manifest says {listed.lines}", lines.name)

    def _check_members(self) -> Member:
        """Check all that is known without inflating; the manifest's member."""
        order = members.MemberOrder()
        name, member = "", None
        for member in self._zip.checked():
            name = order.follow(member.name, shown(member.name))
        if member is None or name != members.MANIFEST:
            raise refuse("order", "the last member is not the manifest")
        return member

    def _check_header(self) -> str:
        member, listed = next(self._listed())
        if member.size > MAX_HEADER:
            raise refuse("size", f"of more than {MAX_HEADER} bytes", members.HEADER)
        try:
            return members.check_archive_header(b"".join(self._content(member, listed)))
        except BadArchive:
            raise
        except InvalidInput as error:
            raise refuse_line(error, members.HEADER) from None

    def _listed(self) -> Iterator[tuple[Member, ManifestMember]]:
        """The members beside their entries in the manifest, each checked; the totals at the end."""
        lines = Lines(members.MANIFEST, self._zip.chunks(self._manifest), self._limits.line_bytes)
        entries = manifest.decode(lines)
        totals, last_session = Totals(), ""
        try:
            for member in self._zip.directory():
                name = shown(member.name)
                entry = next(entries)
                if isinstance(entry, Totals):
                    if name != members.MANIFEST:
                        raise refuse("manifest", f"does not list {name}", members.MANIFEST)
                    if entry != totals:
                        raise refuse("manifest", "the totals are not those of the members", members.MANIFEST)
                    return
                if (entry.name, entry.size) != (name, member.size):
                    raise refuse("manifest", f"lists {entry.name!r:.100} where {name} is, or another size", name)
                _check_entry(entry, last_session)
                if entry.session_id is not UNSET:
                    last_session = entry.session_id
                totals = totals.plus(entry)
                yield member, entry
        except BadArchive:
            raise
        except InvalidInput as error:
            raise refuse("manifest", error.message, members.MANIFEST, lines.number) from None
        raise refuse("manifest", "lists more members than there are", members.MANIFEST)

    def _lines(self, member: Member, listed: ManifestMember) -> Lines:
        return Lines(listed.name, self._content(member, listed), self._limits.line_bytes)

    def _content(self, member: Member, listed: ManifestMember) -> Iterator[bytes]:
        """What is in the member; its last piece comes only if the manifest's hash holds."""
        sha256 = hashlib.sha256()
        held = b""
        for chunk in self._zip.chunks(member):
            if held:
                yield held
            held = chunk
            sha256.update(chunk)
        if sha256.hexdigest() != listed.sha256:
            raise refuse("sha256", "the content does not have the hash that the manifest says", listed.name)
        if held:
            yield held


def _check_entry(entry: ManifestMember, last_session: str) -> None:
    """InvalidInput unless the manifest says of the member what is to be said of its kind."""
    of_session = (entry.session_id, entry.events, entry.head_hash)
    is_session = bool(members.SESSION.match(entry.name))
    if {value is not UNSET for value in of_session} != {is_session}:
        raise InvalidInput(f"{entry.name} is listed with the wrong members")
    if (entry.name == members.MEMORIES) != (entry.lines is not UNSET):
        raise InvalidInput(f"{entry.name} is listed with the wrong members")
    if entry.session_id is not UNSET and check_session_id(entry.session_id) <= last_session:
        raise InvalidInput(f"session {entry.session_id!r:.80} is there twice, or out of order")
    if members.ATTACHMENT.match(entry.name) and entry.name != members.attachment_member(entry.sha256):
        raise InvalidInput(f"{entry.name} is listed with another hash")


def _open_regular(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise refuse("unreadable", f"{path} cannot be opened: {error}") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise refuse("unreadable", f"{path} is not a regular file")
    return file
