"""Erasure: the lawful removal of what an event says, with the chain left whole.

The payload's bytes go, its SHA-256 stays, so the log still verifies and the event shows as erased. The rows beside
the log are derived again without it. The erasure is itself an event that names the seqs and the reason. A copy of an
event lives on in forks and archives: they are named, or erased in the same call.
"""

import contextlib
import copy
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from holdfast.core import Event, HoldfastError, strict_json, types
from holdfast.core.errors import InvalidInput, LegalHold, SessionGone
from holdfast.core.event_bodies import EventsErased
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Engine, Tx
from holdfast.store.lifecycle import returns
from holdfast.store.log.append import append
from holdfast.store.log.derive import derive
from holdfast.store.log.log_check import erasure_in
from holdfast.store.log.log_reader import END, Head, existing_head, read
from holdfast.store.log.prepare import PreparedEvent, with_body
from holdfast.store.log.projection import FOLDS, Projection
from holdfast.store.log.rows import GET_SIZE, PUT_SIZE, clear_rows, get_facts, put_tasks, write_rows
from holdfast.store.part import Part
from holdfast.store.sessions.checkpoints import check_seq
from holdfast.store.sessions.state_points import drop as drop_points
from holdfast.store.sessions.state_points import first_patch
from holdfast.store.tasks import task_texts
from holdfast.store.text.word_index import forget_event

MAX_SEQS = 500
STEP_POINTS = 4
"""Points that one step drops: each may have a megabyte."""

ERASE = """
    UPDATE transcript_events SET payload = ?3, erased = ?4 WHERE session_no = ?1 AND seq = ?2 AND erased IS NULL"""
ERASE_ARCHIVED = """
    UPDATE archived_events SET payload = ?3, erased = ?4 WHERE session_no = ?1 AND seq = ?2 AND erased IS NULL"""
DOCUMENT = "SELECT document FROM archives WHERE session_no = ?1"
PUT_DOCUMENT = "UPDATE archives SET document = ?2 WHERE session_no = ?1"
OURS = ("agent", "userId", "status", "createdAt", "updatedAt", "routes", "kept")
CREATORS = ("agent", "userId")
COPIES = """
    SELECT s.session_id, s.session_no, s.life, s.held
    FROM transcript_event_identities i
    JOIN transcript_events e ON e.session_no = i.session_no AND e.seq = i.seq
    JOIN sessions s ON s.session_no = i.session_no
    WHERE i.event_id = ?1 AND e.hash = ?2 AND e.erased IS NULL
      AND s.tenant = ?3 AND s.session_no <> ?4 AND s.life <> 'arriving'"""
ARCHIVED_COPIES = """
    SELECT r.session_id, r.session_no
    FROM archived_events e JOIN archives r ON r.session_no = e.session_no
    WHERE e.event_id = ?1 AND e.hash = ?2 AND e.erased IS NULL AND r.tenant = ?3"""


@dataclass(frozen=True, slots=True)
class ErasureResult:
    """What was erased of one session, and who else holds copies of it."""

    session_id: str
    seqs: tuple[int, ...]
    copies: tuple[str, ...]
    archived_copies: tuple[str, ...]


class _Target(NamedTuple):
    """An event to erase, and how its copies are known: the same id and hash at the same seq."""

    seq: int
    event_id: str
    hash: bytes
    type: str
    digest: bytes
    size: int
    erased: bool


@dataclass(frozen=True, slots=True)
class _Copies:
    """Where copies are that are not erased yet: by live session, by archived one with its number; and who is held."""

    live: dict[str, list[_Target]]
    archived: dict[tuple[str, int], list[_Target]]
    held: list[str]


@dataclass(frozen=True, slots=True)
class Erasure(Part):
    """`store.erasure`."""

    engine: Engine

    async def erase(
        self, session_id: str, seqs: Iterable[int], *, reason: str, everywhere: bool = False
    ) -> ErasureResult:
        """Remove what these events say; with `everywhere` also from forks and archives.

        LegalHold, and nothing is erased, if the session, or with `everywhere` a copy, is held. Any other error names in
        its details the sessions in which they were `erased` before it; erasing again goes on with the rest.
        """
        check_session_id(session_id)
        chosen = _check_seqs(seqs)

        def look(tx: Tx) -> tuple[Head, list[_Target], _Copies]:
            head = existing_head(tx, self.tenant, session_id)
            targets = [_target(event) for event in _events(tx, head, chosen)]
            return head, targets, self._copies(tx, head, targets)

        head, targets, copies = await self.workers.read(look)
        if everywhere and copies.held:
            raise LegalHold(f"a copy is under legal hold in {', '.join(copies.held)}", sessions=copies.held)
        await self._erase(session_id, chosen, reason)
        done = [session_id]
        try:
            while True:  # a fork that was shown meanwhile is a copy too; one still to be shown is refused
                copies = await self.workers.read(lambda tx: self._copies(tx, head, targets))
                if not everywhere or not (copies.live or copies.archived):
                    named = tuple(sorted(name for name, _ in copies.archived))
                    return ErasureResult(session_id, chosen, tuple(sorted(copies.live)), named)
                for other, places in copies.live.items():
                    with contextlib.suppress(SessionGone):  # it is found in the archive next
                        await self._erase(other, tuple(place.seq for place in places), reason)
                        done.append(other)
                for (other, session_no), places in copies.archived.items():
                    await self._erase_archived(other, session_no, places)
                    done.append(other)
        except HoldfastError as error:
            error.after(f"it was erased in {', '.join(done[:5])}", erased=done)
            raise

    async def _erase(self, session_id: str, seqs: tuple[int, ...], reason: str) -> None:
        body = EventsErased(list(seqs), reason)
        event = self.own_event(body)
        done = False
        while not done:
            head = await self.workers.read(lambda tx: existing_head(tx, self.tenant, session_id))
            await self._drop_points(session_id, head, seqs)
            derived = await derive(self.workers, head, hide=frozenset(seqs))

            def write(tx: Tx, head: Head = head, derived: Projection = derived) -> bool:
                return self._erase_now(tx, session_id, body, event, head, derived)

            done = await self.write(session_id, write, len(seqs), makes_room=True)

    def _erase_now(
        self, tx: Tx, session_id: str, body: EventsErased, event: PreparedEvent, head: Head, derived: Projection
    ) -> bool:
        """Erase in one write; False if another erasure came between, so that what was derived knows too much."""
        now = existing_head(tx, self.tenant, session_id)
        if get_facts(tx, now.session_no).held:
            raise LegalHold(f"session {session_id!r} is under legal hold", session_id=session_id)
        events = list(_events(tx, now, body.seqs))
        fresh = [found for found in map(_target, events) if not found.erased]
        if not fresh:
            return True
        tail = read(tx, now, head.seq, None, END)
        if any(each.type == types.EVENTS_ERASED for each in tail):
            return False
        tx.run_many(ERASE, [(now.session_no, each.seq, b"", each.digest) for each in fresh])
        for each in fresh:
            forget_event(tx, self.engine.text, now.session_no, each.seq)
        task_texts.drop_of_session(tx, now.session_no)
        append(tx, self.tenant, session_id, [_saying_again(event, body, events)])
        size = tx.one(GET_SIZE, now.session_no)
        assert size is not None
        if any(each.type in FOLDS for each in fresh):
            _write_again(tx, self.tenant, now.session_no, copy.deepcopy(derived).add(tail))
        tx.run(PUT_SIZE, now.session_no, size[0] - sum(each.size for each in fresh))
        _drop_points_after(tx, now.session_no, fresh)
        tx.leave_no_trace()
        return True

    async def _drop_points(self, session_id: str, head: Head, seqs: tuple[int, ...]) -> None:
        """Drop, in steps, what the state was after patches that are to be erased."""
        first = await self.workers.read(lambda tx: first_patch(tx, head.session_no, seqs))
        if first is not None:
            step = partial(drop_points, session_no=head.session_no, first_seq=first, most=STEP_POINTS)
            while await self.write(session_id, step, makes_room=True):
                pass

    async def _erase_archived(self, session_id: str, session_no: int, places: list[_Target]) -> None:
        """Erase in an archive, on the way there, and in what the archive says of the session beside its log.

        A session that was undeleted since is a copy like any other, found by the next look. One that is being undeleted
        is not: its rows were perhaps derived from what is erased now.
        """

        def write(tx: Tx) -> None:
            about = tx.one(DOCUMENT, session_no)
            if about is None:
                return
            returns.undo(tx, session_no)
            task_texts.drop_of_session(tx, session_no)
            rows = [(session_no, place.seq, b"", place.digest) for place in places]
            tx.run_many(ERASE_ARCHIVED, rows)
            tx.run_many(ERASE, rows)
            for place in places:
                forget_event(tx, self.engine.text, session_no, place.seq)
            _drop_points_after(tx, session_no, places)
            kinds = {place.type for place in places}
            if kinds & FOLDS.keys():
                drop = CREATORS if types.SESSION_CREATED in kinds else ()
                document = strict_json.parse(about[0])
                kept = {name: document[name] for name in OURS if name in document and name not in drop}
                tx.run(PUT_DOCUMENT, session_no, strict_json.dump(kept))
            tx.leave_no_trace()

        await self.write(session_id, write, len(places), makes_room=True)

    def _copies(self, tx: Tx, head: Head, targets: list[_Target]) -> _Copies:
        live: defaultdict[str, list[_Target]] = defaultdict(list)
        archived: defaultdict[tuple[str, int], list[_Target]] = defaultdict(list)
        held: set[str] = set()
        for target in targets:
            same = (target.event_id, target.hash, self.tenant)
            for other, session_no, life, is_held in tx.all(COPIES, *same, head.session_no):
                if life == "live":
                    live[other].append(target)
                else:
                    archived[other, session_no].append(target)
                if is_held:
                    held.add(other)
            for other, session_no in tx.all(ARCHIVED_COPIES, *same):
                archived[other, session_no].append(target)
        return _Copies(dict(live), dict(archived), sorted(held))


def _saying_again(event: PreparedEvent, body: EventsErased, chosen: list[Event]) -> PreparedEvent:
    """The event that says what was erased; also what those said that are erased now, for nobody else says it then."""
    erasures = [erasure_in(each) for each in chosen if each.type == types.EVENTS_ERASED and each.erased is None]
    said = [each.seqs + (each.said_again or []) for each in erasures if each is not None]
    if not said:
        return event
    return with_body(event, EventsErased(body.seqs, body.reason, sorted({seq for seqs in said for seq in seqs})))


def _check_seqs(seqs: Iterable[int]) -> tuple[int, ...]:
    chosen = list(seqs)
    if not all(isinstance(seq, int) for seq in chosen):
        raise InvalidInput("the events to erase are named by their seqs, which are whole numbers")
    chosen = sorted(set(chosen))
    if not 1 <= len(chosen) <= MAX_SEQS:
        raise InvalidInput(f"erase 1 to {MAX_SEQS} events at a time, not {len(chosen)}")
    return tuple(chosen)


def _target(event: Event) -> _Target:
    digest = event.erased or hashlib.sha256(event.payload).digest()
    erased = event.erased is not None
    return _Target(event.seq, event.event_id, event.hash, event.type, digest, len(event.payload), erased)


def _events(tx: Tx, head: Head, seqs: Iterable[int]) -> Iterator[Event]:
    for seq in seqs:
        yield read(tx, head, check_seq(seq, head) - 1, seq + 1, 1)[0]


def _drop_points_after(tx: Tx, session_no: int, erased: list[_Target]) -> None:
    """Drop what the state was after patches that are erased: it still says what they said."""
    patches = [each.seq for each in erased if each.type == types.STATE_UPDATED]
    if patches:
        drop_points(tx, session_no, min(patches), END)


def _write_again(tx: Tx, tenant: str, session_no: int, derived: Projection) -> None:
    """Replace a session's rows; its tasks keep who works on them."""
    clear_rows(tx, session_no, but=("tasks", "state_points"))
    write_rows(tx, tenant, session_no, replace(derived, tasks={}))
    put_tasks(tx, session_no, derived.tasks)
