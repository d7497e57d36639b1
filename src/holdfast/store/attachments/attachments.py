"""Attachments: bytes kept once per tenant by their SHA-256, and named by the events of sessions.

Bytes are written first, a part of at most 1 MB at a time, so that nobody waits long; only the last part makes them
complete, and what is not complete cannot be read or attached. The event that names them and the row that keeps them
from being swept are one write. Whoever adds, attaches or sweeps locks the digest, so none of them sees half of another.
"""

import asyncio
import hashlib
import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.core import Appended, Lease
from holdfast.core.errors import Corrupt, InvalidInput, NotFound
from holdfast.core.event_bodies import AttachmentAdded
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.attachments import sweep
from holdfast.store.attachments.byte_buffer import PART, part_count, spooled
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import existing_head
from holdfast.store.log.rows import INSERT_USE
from holdfast.store.part import Part

HOLD_MS = 2 * sweep.DAY_MS
"""For how long bytes are held for an import that never says it has ended."""
PART_WEIGHT = 1_000
"""A part is much of a group, so that those who come after it wait for two parts at most."""

DIGEST = re.compile(r"[0-9a-f]{64}\Z")
MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}( ?;[ -~]{1,200})?\Z")

FIND = "SELECT attachment_no, size_bytes, complete FROM attachments WHERE tenant = ?1 AND digest = ?2"
INSERT = "INSERT INTO attachments (tenant, digest, size_bytes, complete, touched_at) VALUES (?1, ?2, ?3, 0, ?4)"
TOUCH = "UPDATE attachments SET touched_at = ?2 WHERE attachment_no = ?1 AND touched_at < ?2"
LET_GO = "UPDATE attachments SET touched_at = ?3 WHERE tenant = ?1 AND digest = ?2 AND touched_at > ?3"
COMPLETE = "UPDATE attachments SET complete = 1 WHERE attachment_no = ?1"
PUT_PART = """
    INSERT INTO attachment_parts (attachment_no, part, bytes) VALUES (?1, ?2, ?3)
    ON CONFLICT (attachment_no, part) DO UPDATE SET bytes = excluded.bytes"""
GET_PART = "SELECT bytes FROM attachment_parts WHERE attachment_no = ?1 AND part = ?2"
HELD = """
    SELECT count(*), coalesce(sum(length(bytes)), 0) FROM attachment_parts WHERE attachment_no = ?1 AND part < ?2"""
OF_SESSION = """
    SELECT u.digest, a.size_bytes FROM attachment_uses u
    LEFT JOIN attachments a ON a.tenant = u.tenant AND a.digest = u.digest AND a.complete = 1
    WHERE u.session_no = ?1 ORDER BY u.digest"""

USED = """
    SELECT u.digest, a.size_bytes FROM attachment_uses u
    JOIN attachments a ON a.tenant = u.tenant AND a.digest = u.digest AND a.complete = 1
    WHERE u.session_no = ?1 AND u.tenant = ?2 AND u.digest = ?3"""


@dataclass(frozen=True, slots=True)
class StoredAttachment:
    """Bytes that are kept: their SHA-256 in hex, and how many they are."""

    digest: str
    size_bytes: int


class Attachments(Part):
    """`store.attachments`."""

    __slots__ = ()

    async def put(
        self, data: bytes | AsyncIterable[bytes], *, expected_digest: str | None = None, hold: bool = False
    ) -> StoredAttachment:
        """Keep the bytes, and return once all of them are durable; what is there already is only touched.

        InvalidInput if they are not the bytes of `expected_digest`; TooLarge beyond 256 MB. A put that was
        interrupted leaves nothing that could be read; putting again completes it. With `hold` no sweep takes them until
        they are let go.
        """
        if expected_digest is not None:
            check_digest(expected_digest)
        async with spooled(data, self.tuning.max_attachment) as content:
            digest, size = content.digest, content.size_bytes
            if expected_digest not in (None, digest):
                raise InvalidInput(f"the bytes have the digest {digest}, not {expected_digest}", digest=digest)
            locks = (sweep.attachment_lock(self.tenant, digest),)
            number, complete = 0, False
            while not complete:  # a second round is needed only if a sweep came between two parts
                part = await content.part(number)

                def run(tx: Tx, number: int = number, part: bytes = part) -> bool:
                    return add_part(tx, self.tenant, StoredAttachment(digest, size), number, part, hold=hold)

                complete = await self.workers.write(run, locks, PART_WEIGHT)
                number = (number + 1) % part_count(size)
        return StoredAttachment(digest, size)

    async def let_go(self, digests: Sequence[str]) -> None:
        """Hold these no longer: from now on they are swept like any others that no session uses."""
        for start in range(0, len(digests), PART_WEIGHT):
            some = digests[start : start + PART_WEIGHT]

            def run(tx: Tx, some: Sequence[str] = some) -> None:
                now = tx.now()
                tx.run_many(LET_GO, [(self.tenant, digest, now) for digest in some])

            await self.workers.write(run, (), len(some))

    async def get(self, digest: str) -> StoredAttachment:
        """What is kept under this digest, or NotFound."""
        check_digest(digest)
        return await self.workers.read(
            lambda tx: StoredAttachment(digest, find(tx, self.tenant, digest).size_bytes), ReadLength.LOOK
        )

    async def read(self, digest: str) -> AsyncGenerator[bytes, None]:
        """The bytes, a part at a time; Corrupt, before the last of them, if they are not what was put."""
        check_digest(digest)
        found = await self.workers.read(lambda tx: find(tx, self.tenant, digest))
        seen, last = hashlib.sha256(), part_count(found.size_bytes) - 1
        for number in range(last + 1):
            part = await self.workers.read(
                lambda tx, number=number: get_part(tx, self.tenant, digest, found, number)  # type: ignore[misc]
            )
            await asyncio.to_thread(seen.update, part)
            if number == last and seen.hexdigest() != digest:
                raise Corrupt(f"the bytes of attachment {digest} are not what was put", digest=digest)
            yield part

    async def attach(
        self,
        session_id: str,
        digest: str,
        *,
        name: str,
        media_type: str,
        lease: Lease | None = None,
        idempotency_key: str | None = None,
    ) -> Appended:
        """Append the event that names the bytes, which keeps them for as long as the session; NotFound without them."""
        check_session_id(session_id)
        check_digest(digest)
        check_file_name(name)
        check_media_type(media_type)
        size_bytes = (await self.get(digest)).size_bytes
        event = self.own_event(AttachmentAdded(digest, name, media_type, size_bytes), idempotency_key)

        def run(tx: Tx) -> Appended:
            find(tx, self.tenant, digest)
            appended = append(tx, self.tenant, session_id, [event], lease=lease)
            if not appended.replayed:
                tx.run(INSERT_USE, existing_head(tx, self.tenant, session_id).session_no, self.tenant, digest)
            return appended

        return await self.workers.write(run, (self.lock(session_id), sweep.attachment_lock(self.tenant, digest)))

    async def of_session(self, session_id: str) -> list[StoredAttachment]:
        """The attachments that the session's events name, each once, by digest; NotFound if there is no session."""
        check_session_id(session_id)

        def run(tx: Tx) -> list[StoredAttachment]:
            rows = tx.all(OF_SESSION, existing_head(tx, self.tenant, session_id).session_no)
            for digest, size_bytes in rows:
                if size_bytes is None:
                    raise Corrupt(f"attachment {digest} of session {session_id!r} is missing", digest=digest)
            return [StoredAttachment(*row) for row in rows]

        return await self.workers.read(run)

    async def sweep(self, older_than_ms: int = sweep.DAY_MS) -> sweep.SweepResult:
        """Remove what no session uses and nobody has put again for so long, and uploads that were given up."""
        return await sweep.sweep(self.tenant, self.workers, older_than_ms, self.tuning)


class AttachmentRow(NamedTuple):
    """A complete attachment's row."""

    attachment_no: int
    size_bytes: int


def find(tx: Tx, tenant: str, digest: str) -> AttachmentRow:
    """The row of an attachment that is complete, or NotFound."""
    row = tx.one(FIND, tenant, digest)
    if row is None or not row[2]:
        raise NotFound(f"there is no attachment {digest}", digest=digest, hint="put its bytes first")
    return AttachmentRow(row[0], row[1])


def used(tx: Tx, tenant: str, session_no: int, digest: str) -> StoredAttachment | None:
    """What is kept under this digest, if the session's events name it."""
    row = tx.one(USED, session_no, tenant, digest)
    return None if row is None else StoredAttachment(*row)


def get_part(tx: Tx, tenant: str, digest: str, found: AttachmentRow, number: int) -> bytes:
    """The bytes of one part; NotFound if the attachment was swept since, Corrupt if its part is missing or short."""
    row = tx.one(GET_PART, found.attachment_no, number)
    whole = PART if number + 1 < part_count(found.size_bytes) else found.size_bytes - number * PART
    if row is not None and len(row[0]) == whole:
        return bytes(row[0])
    if find(tx, tenant, digest).attachment_no != found.attachment_no:
        raise NotFound(f"attachment {digest} was swept while it was read", digest=digest, hint="read it again")
    raise Corrupt(f"part {number} of attachment {digest} is missing or cut", digest=digest, part=number)


def is_whole(tx: Tx, tenant: str, digest: str) -> bool:
    """Whether the bytes of this digest are all there."""
    row = tx.one(FIND, tenant, digest)
    return row is not None and bool(row[2])


def add_part(tx: Tx, tenant: str, content: StoredAttachment, number: int, part: bytes, *, hold: bool = False) -> bool:
    """Keep one part; True if the attachment is complete with it, or was before."""
    now = tx.now() + (HOLD_MS if hold else 0)
    row = tx.one(FIND, tenant, content.digest)
    if row is None:
        tx.run(INSERT, tenant, content.digest, content.size_bytes, now)
        row = tx.one(FIND, tenant, content.digest)
        assert row is not None
    attachment_no, _, complete = row
    tx.run(TOUCH, attachment_no, now)
    if complete and _whole(tx, attachment_no, content.size_bytes):
        return True
    tx.run(PUT_PART, attachment_no, number, part)
    if not _whole(tx, attachment_no, content.size_bytes):
        return False
    tx.run(COMPLETE, attachment_no)
    return True


def check_digest(digest: str) -> str:
    """The digest itself, or InvalidInput."""
    if not isinstance(digest, str) or not DIGEST.match(digest):
        raise InvalidInput(f"{digest!r:.80} is not a digest", hint="a SHA-256 in 64 characters of 0-9 a-f")
    return digest


def check_file_name(name: str) -> str:
    """A name to show, never a path: no separators, no control characters, not '.' or '..'; or InvalidInput."""
    check_name(name, "an attachment's name")
    if name in {".", ".."} or any(char in "/\\" or unicodedata.category(char) == "Cc" for char in name):
        raise InvalidInput(
            f"{name!r:.80} is not an attachment's name",
            hint="the last part of a path, without / or \\ and without control characters",
        )
    return name


def check_media_type(media_type: str) -> str:
    """The media type itself, or InvalidInput."""
    if not isinstance(media_type, str) or not MEDIA_TYPE.match(media_type):
        raise InvalidInput(f"{media_type!r:.80} is not a media type", hint="for example image/png")
    return media_type


def _whole(tx: Tx, attachment_no: int, size_bytes: int) -> bool:
    parts = part_count(size_bytes)
    return tx.one(HELD, attachment_no, parts) == (parts, size_bytes)
