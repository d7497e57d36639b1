"""The manifest: the last member, which lists the others, one per line, with their sizes and hashes.

It is one JSON object, written so that a reader can take it line by line beside the members it lists.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET, Struct, UnsetType

from holdfast.core.errors import InvalidInput
from holdfast.store.portable.lines import decode_as, hash_of

OPENING = b'{"format":"holdfast-manifest","version":1,"members":['
TOTALS = b'],"totals":'

_encode = msgspec.json.Encoder().encode


class ManifestMember(Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """A member in the manifest; for a session also which one, and for lines how many."""

    name: str
    size: int
    sha256: str
    session_id: str | UnsetType = UNSET
    events: int | UnsetType = UNSET
    head_hash: str | UnsetType = UNSET
    lines: int | UnsetType = UNSET


class Totals(Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """What an archive holds altogether; `bytes` are those of the listed members, inflated."""

    members: int = 0
    sessions: int = 0
    events: int = 0
    attachments: int = 0
    memories: int = 0
    bytes: int = 0

    def plus(self, listed: ManifestMember) -> "Totals":
        """With one more member."""
        return Totals(
            self.members + 1,
            self.sessions + (listed.session_id is not UNSET),
            self.events + (listed.events or 0),
            self.attachments + listed.name.startswith("attachments/"),
            self.memories + (listed.lines or 0),
            self.bytes + listed.size,
        )


def encode_listed(listed: ManifestMember, *, first: bool) -> bytes:
    """The member's part of the manifest, to follow what was written before."""
    return (b"\n" if first else b",\n") + _encode(listed)


def encode_totals(totals: Totals) -> bytes:
    """The end of the manifest."""
    return b"\n" + TOTALS + _encode(totals) + b"}\n"


def decode(lines: Iterable[bytes]) -> Iterator[ManifestMember | Totals]:
    """The members that a manifest's lines list, then their totals; InvalidInput."""
    lines = iter(lines)
    if next(lines, b"") != OPENING:
        raise InvalidInput("not the manifest of an archive")
    waiting = b""
    totals = Totals()
    for line in lines:
        if line.startswith(TOTALS):
            if waiting.endswith(b","):
                raise InvalidInput("a comma after the last member")
            if waiting:
                yield _listed(waiting)
            if not line.endswith(b"}"):
                raise InvalidInput("the totals are cut off")
            totals = decode_as(_totals, line[len(TOTALS) : -1], "not the totals")
            if encode_totals(totals) != b"\n" + line + b"\n":
                raise InvalidInput("the totals are spelled in another way")
            break
        if waiting:
            if not waiting.endswith(b","):
                raise InvalidInput("no comma after a member")
            yield _listed(waiting[:-1])
        waiting = line
    else:
        raise InvalidInput("the manifest has no end")
    if next(lines, None) is not None:
        raise InvalidInput("something after the end of the manifest")
    yield totals


def _listed(raw: bytes) -> ManifestMember:
    listed = decode_as(_member, raw, "not a member's entry")
    numbers = [number for number in (listed.size, listed.events, listed.lines) if number is not UNSET]
    if any(number < 0 for number in numbers):
        raise InvalidInput("a size or count below zero")
    hash_of(listed.sha256)
    if listed.head_hash is not UNSET:
        hash_of(listed.head_hash)
    if _encode(listed) != raw:
        raise InvalidInput("spelled in another way than a manifest is")
    return listed


_member = msgspec.json.Decoder(ManifestMember).decode
_totals = msgspec.json.Decoder(Totals).decode
