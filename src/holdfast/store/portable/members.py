"""Which members an archive has, and in which order: this grammar and nothing else.

holdfast.json · sessions/000001.jsonl, sessions/000002.jsonl, … · attachments/<sha256>, ascending ·
memories.jsonl, if there are memories · manifest.json
"""

import re

import msgspec
from msgspec import Struct

from holdfast import __version__
from holdfast.core.errors import InvalidInput
from holdfast.store.portable.lines import decode_as
from holdfast.store.portable.refusal import refuse

HEADER = "holdfast.json"
MEMORIES = "memories.jsonl"
MANIFEST = "manifest.json"
FORMAT = "holdfast-archive"
VERSION = 1

SESSION = re.compile(r"sessions/[0-9]{6,}\.jsonl\Z")
ATTACHMENT = re.compile(r"attachments/[0-9a-f]{64}\Z")

_encode = msgspec.json.Encoder().encode


class ArchiveHeader(Struct, rename="camel"):
    """The first member: what this file is."""

    format: str = FORMAT
    version: int = VERSION
    created_by: str = f"holdfast {__version__}"


def session_member(number: int) -> str:
    """The name of the archive's `number`-th session, counted from 1."""
    return f"sessions/{number:06d}.jsonl"


def attachment_member(digest: str) -> str:
    """The name of the attachment with this SHA-256."""
    return f"attachments/{digest}"


class MemberOrder:
    """Follows the names of an archive's members and refuses the first that cannot come next."""

    def __init__(self) -> None:
        self._last = ""
        self._sessions = 0

    def follow(self, raw: bytes, place: str) -> str:
        """The name as text, or BadArchive."""
        name = raw.decode("ascii", "replace")
        if self._allows(name):
            self._last = name
            return name
        if name in {HEADER, MEMORIES, MANIFEST} or SESSION.match(name) or ATTACHMENT.match(name):
            raise refuse(
                "order", f"cannot come after {self._last or 'the beginning'}: there twice, or misplaced", place
            )
        raise refuse("member_name", "an archive has no such member", place)

    def _allows(self, name: str) -> bool:
        last = self._last
        if not last or name == HEADER:
            return not last and name == HEADER
        if last == MANIFEST:
            return False
        if name == MANIFEST:
            return True
        if last == MEMORIES:
            return False
        if name == MEMORIES:
            return True
        if ATTACHMENT.match(name):
            return not ATTACHMENT.match(last) or name > last
        self._sessions += 1
        return name == session_member(self._sessions) and not ATTACHMENT.match(last)


def encode_archive_header() -> bytes:
    """The first member's content."""
    return _encode(ArchiveHeader()) + b"\n"


def check_archive_header(raw: bytes) -> str:
    """Who made the archive; InvalidInput if it is not one that we can read."""
    header = decode_as(_header, raw, "not the first member of an archive")
    if header.format != FORMAT:
        raise InvalidInput(f"the format is {header.format!r:.80}, not {FORMAT!r}")
    if header.version != VERSION:
        raise InvalidInput(
            f"an archive of version {header.version!r:.40}; this Holdfast reads version {VERSION}",
            hint="use the Holdfast version that wrote it, or a newer one",
        )
    if _encode(header) + b"\n" != raw:
        raise InvalidInput("spelled in another way than an archive's members are")
    return header.created_by


_header = msgspec.json.Decoder(ArchiveHeader).decode
