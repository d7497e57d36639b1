"""Checkpoints and snapshots: points in a log to go back to, and what stands for the events before them.

Compaction loses nothing. It is an event with a summary and the range it stands for, written only when the summary
exists, together with a checkpoint of the log as it was before; the events it sums up stay readable.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msgspec import UNSET

from holdfast.core import Checkpoint, Snapshot, strict_json
from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.event_bodies import Body, CheckpointCreated, Compacted, SnapshotSaved
from holdfast.core.event_bodies import read as read_body
from holdfast.core.ids import check_name, check_session_id
from holdfast.core.statuses import COMPACTION, MANUAL
from holdfast.store.engine import Tx
from holdfast.store.log.append import append, stale
from holdfast.store.log.log_reader import Head, existing_head, read
from holdfast.store.log.prepare import PreparedEvent, check_most, with_body
from holdfast.store.log.projection import Child, new_checkpoint, surplus
from holdfast.store.log.replay import KnownEvent, conflict_with, find_by_key, first_body, known_before
from holdfast.store.log.rows import CHECKPOINTS, INSERT_SNAPSHOT
from holdfast.store.part import Part

NEWEST = "SELECT seq FROM snapshots WHERE session_no = ?1 AND first_seq = 1 ORDER BY seq DESC LIMIT 1"
BACKWARD = "SELECT seq FROM snapshots WHERE session_no = ?1 AND first_seq = 1 AND seq < ?2 ORDER BY seq DESC LIMIT 1"

MAX_LABEL = 1024
MAX_SUMMARY = 1024 * 1024


class Checkpoints(Part):
    """`store.checkpoints`."""

    __slots__ = ()

    async def create(
        self,
        session_id: str,
        name: str = "",
        *,
        checkpoint_id: str | None = None,
        seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> Checkpoint:
        """A point in the log, now or at an earlier seq; Conflict if the id is another's. The newest 25 are kept."""
        check_session_id(session_id)
        check_label(name)
        chosen = self.ids() if checkpoint_id is None else check_name(checkpoint_id, "a checkpoint's id")
        draft = self.own_draft(CheckpointCreated, idempotency_key)

        def write(tx: Tx) -> Checkpoint:
            head = existing_head(tx, self.tenant, session_id)
            known = known_before(tx, head, draft)
            if known is not None:
                asked = {"checkpoint_id": checkpoint_id, "name": name, "seq": seq, "reason": MANUAL}
                first = _first(known, {member: value for member, value in asked.items() if value is not None})
                return replace(first, replayed=known.event_id != draft.event_id)
            at = head.seq if seq is None else check_seq(seq, head)
            if CHECKPOINTS.get(tx, head.session_no, chosen) is not None:
                raise Conflict(f"there is a checkpoint {chosen!r} already", checkpoint_id=chosen)
            body = CheckpointCreated(chosen, name, at, MANUAL)
            append(tx, self.tenant, session_id, [with_body(draft, body)])
            return put(tx, head.session_no, body, draft.created_at)

        return await self.write(session_id, write)

    async def list(self, session_id: str) -> list[Checkpoint]:
        """The session's checkpoints, oldest first."""
        check_session_id(session_id)

        def run(tx: Tx) -> "list[Checkpoint]":
            found = CHECKPOINTS.all(tx, existing_head(tx, self.tenant, session_id).session_no)
            return [as_checkpoint(name, child) for name, child in found.items()]

        return await self.workers.read(run)

    async def get(self, session_id: str, checkpoint_id: str) -> Checkpoint:
        """One checkpoint, or NotFound."""
        for found in await self.list(session_id):
            if found.checkpoint_id == checkpoint_id:
                return found
        raise NotFound(f"session {session_id!r} has no checkpoint {checkpoint_id!r}", checkpoint_id=checkpoint_id)

    async def save_snapshot(
        self, session_id: str, document: Any, *, last_seq: int | None = None, idempotency_key: str | None = None
    ) -> Snapshot:
        """Keep a document that stands for the log up to now, or up to `last_seq`: resume begins there."""
        check_session_id(session_id)
        document = strict_json.plain(document)
        draft = self.own_draft(SnapshotSaved, idempotency_key)

        def write(tx: Tx) -> Snapshot:
            head = existing_head(tx, self.tenant, session_id)
            known = known_before(tx, head, draft)
            if known is not None:
                asked = {"document": document} if last_seq is None else {"document": document, "last_seq": last_seq}
                _check_same(known, SnapshotSaved, asked)
                return replace(snapshot_at(tx, head, known.seq), replayed=known.event_id != draft.event_id)
            last = head.seq if last_seq is None else check_seq(last_seq, head)
            body = SnapshotSaved(document=document, first_seq=1, last_seq=last)
            return self._put_snapshot(tx, session_id, head, [with_body(draft, body)], body)

        return await self.write(session_id, write)

    async def compact(
        self,
        session_id: str,
        summary: Any,
        *,
        last_seq: int,
        first_seq: int = 1,
        name: str = "",
        expected_seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> Snapshot:
        """Let a summary stand for the events from `first_seq` to `last_seq`, and checkpoint the log before it."""
        check_session_id(session_id)
        check_label(name)
        if summary in (None, {}, []) or (isinstance(summary, str) and not summary.strip()):
            raise InvalidInput("a compaction needs its summary", hint="make the summary first, then compact")
        summary = strict_json.plain(summary)
        check_most(summary, MAX_SUMMARY, "a summary", "a summary stands for events, which stay readable")
        checkpoint_id = self.ids()
        drafts = [self.own_draft(Compacted, idempotency_key), self.own_draft(CheckpointCreated)]

        def write(tx: Tx) -> Snapshot:
            head = existing_head(tx, self.tenant, session_id)
            known = known_before(tx, head, drafts[0])
            if known is not None:
                asked = {"summary": summary, "first_seq": first_seq, "last_seq": last_seq}
                _check_same(known, Compacted, asked)
                return replace(snapshot_at(tx, head, known.seq), replayed=known.event_id != drafts[0].event_id)
            if expected_seq not in (None, head.seq):
                raise stale(tx, head, session_id, expected_seq or 0)
            if check_seq(first_seq, head) > check_seq(last_seq, head):
                raise InvalidInput(f"there is no range from {first_seq} to {last_seq}")
            last = read(tx, head, last_seq - 1, last_seq + 1, 1)[0]
            checkpoint = CheckpointCreated(checkpoint_id, name, head.seq, COMPACTION)
            body = Compacted(
                summary=summary,
                first_seq=first_seq,
                last_seq=last_seq,
                last_hash=last.hash.hex(),
                checkpoint_id=checkpoint_id,
            )
            events = [with_body(drafts[0], body), with_body(drafts[1], checkpoint)]
            made = self._put_snapshot(tx, session_id, head, events, body)
            put(tx, head.session_no, checkpoint, drafts[1].created_at)
            return made

        return await self.write(session_id, write, 2)

    async def compacted_by(self, session_id: str, idempotency_key: str) -> Snapshot | None:
        """The compaction that was written with this key, or None; IdempotencyConflict if something else was."""
        check_session_id(session_id)

        def run(tx: Tx) -> Snapshot | None:
            head = existing_head(tx, self.tenant, session_id)
            known = find_by_key(tx, head, idempotency_key)
            if known is None:
                return None
            first_body(known, Compacted)
            return replace(snapshot_at(tx, head, known.seq), replayed=True)

        return await self.workers.read(run)

    async def newest_compaction(self, session_id: str) -> Snapshot | None:
        """The newest compaction that stands for the log from its beginning, or None."""
        check_session_id(session_id)

        def run(tx: Tx) -> Snapshot | None:
            head = existing_head(tx, self.tenant, session_id)
            row = tx.one(NEWEST, head.session_no)
            while row is not None:
                found = snapshot_at(tx, head, row[0])
                if found.kind == COMPACTION:
                    return found
                row = tx.one(BACKWARD, head.session_no, row[0])
            return None

        return await self.workers.read(run)

    def _put_snapshot(
        self, tx: Tx, session_id: str, head: Head, events: Sequence[PreparedEvent], body: SnapshotSaved | Compacted
    ) -> Snapshot:
        appended = append(tx, self.tenant, session_id, events)
        tx.run(INSERT_SNAPSHOT, head.session_no, appended.first_seq, body.first_seq, body.last_seq)
        return as_snapshot(appended.first_seq, body, events[0].created_at)


def put(tx: Tx, session_no: int, body: CheckpointCreated, at: int) -> Checkpoint:
    """Keep a checkpoint, and no more than the newest 25."""
    child = new_checkpoint(CHECKPOINTS.next_number(tx, session_no), body, at)
    CHECKPOINTS.put(tx, session_no, {body.checkpoint_id: child})
    for name in surplus(CHECKPOINTS.all(tx, session_no)):
        CHECKPOINTS.drop(tx, session_no, name)
    return as_checkpoint(body.checkpoint_id, child)


def newest_snapshot(tx: Tx, head: Head) -> Snapshot | None:
    """The newest snapshot that stands for the log from its beginning, or None; one of a part of it says too little."""
    row = tx.one(NEWEST, head.session_no)
    return None if row is None else snapshot_at(tx, head, row[0])


def snapshot_at(tx: Tx, head: Head, seq: int) -> Snapshot:
    """The snapshot that the event at this seq is."""
    event = read(tx, head, seq - 1, seq + 1, 1)[0]
    if event.type == Compacted.TYPE:
        return as_snapshot(seq, read_body(event, Compacted), event.created_at)
    return as_snapshot(seq, read_body(event, SnapshotSaved), event.created_at)


def as_snapshot(seq: int, body: SnapshotSaved | Compacted, at: int) -> Snapshot:
    """What a snapshot's event says, as a snapshot."""
    kind, document = (COMPACTION, body.summary) if isinstance(body, Compacted) else ("snapshot", body.document)
    return Snapshot(seq, body.first_seq, body.last_seq, kind, None if document is UNSET else document, at)


def as_checkpoint(checkpoint_id: str, child: Child) -> Checkpoint:
    """A row as a checkpoint."""
    known = child.document
    return Checkpoint(checkpoint_id, known["name"], known["seq"], child.status, known["createdAt"])


def check_seq(seq: int, head: Head) -> int:
    """The seq, or InvalidInput if the log has no such event."""
    if isinstance(seq, bool) or not isinstance(seq, int) or not 1 <= seq <= head.seq:
        raise InvalidInput(f"the log has no event {seq!r:.40}: it ends at {head.seq}", head_seq=head.seq)
    return seq


def check_label(name: str) -> str:
    """A checkpoint's name, or InvalidInput, or TooLarge."""
    if not isinstance(name, str):
        raise InvalidInput(f"a checkpoint's name must be text, not {name!r:.80}")
    check_most(name, MAX_LABEL, "a checkpoint's name", "a few words are enough")
    return name


def _check_same(known: KnownEvent, body: type[Body], asked: dict[str, Any]) -> Body:
    """What was written first, or IdempotencyConflict if it is not what is asked."""
    first = first_body(known, body)
    said = {name: getattr(first, name) for name in asked}
    if UNSET in said.values() or strict_json.canonical(said) != strict_json.canonical(asked):
        raise conflict_with(known)
    return first


def _first(known: KnownEvent, asked: dict[str, Any]) -> Checkpoint:
    """The checkpoint as it was made first: what a retry is told."""
    body = _check_same(known, CheckpointCreated, asked)
    return as_checkpoint(body.checkpoint_id, new_checkpoint(0, body, known.created_at))
