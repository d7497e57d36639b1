"""The courier: a process that brings the inbox to the service, in order, each record once.

One runs for each inbox. It takes some records, makes entries of them, and hands them to the delivery that every hook
agent has, which keeps them in a spool, tries again while the service is away, and sets aside what is refused. Only when
all of them are acknowledged are the records settled. So whoever is killed, wherever, loses nothing: the records are
taken again, and entries are known by their keys.

A transcript is read in its place among the records, and the record that asks for it is settled after that. The courier
ends when nothing has come for a while, or when the service has been away for long: the next hook starts another.
"""

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from holdfast.client import leftovers
from holdfast.client.delivery import Delivery
from holdfast.client.entry import SpoolEntry, to_line
from holdfast.client.errors import ServiceAway
from holdfast.client.refusals import Refusals
from holdfast.client.segments import SpoolLine
from holdfast.client.service import RetryLater, Service, ServiceRefusal
from holdfast.client.settings import Settings
from holdfast.client.spool import Spool
from holdfast.core import HoldfastError, SystemClock, TimeOrderedIds
from holdfast.core.errors import Conflict, InvalidInput, NotFound, SessionGone, TooLarge
from holdfast.core.problem import problem
from holdfast.core.retry import Backoff
from holdfast.hook.entries import (
    SECRETS,
    HookRecord,
    TranscriptPlace,
    as_sent,
    described,
    entries_of,
    tags_of,
    transcript_of,
)
from holdfast.hook.inbox import InboxReader
from holdfast.hook.journal import note

NAME = "hooks"
"""What the courier calls itself where a program says its session."""
MOST_RECORDS = 100
LOOK_SECONDS = 0.1
IDLE_SECONDS = 20.0
TIDY_SECONDS = 1.0
AWAY_SECONDS = 15 * 60.0
DRAIN_SECONDS = 5.0
PAUSE = Backoff(0.2, 10.0)
MOST_SESSIONS = 1_000
PASSES = frozenset({401, 403, 421, 429, 502, 503, 504, 507})
"""Statuses of a gateway that is away, busy or full, or does not know us yet: a transcript waits in its file."""

Keep = Callable[[TranscriptPlace], None]
"""Reads a transcript into its session; a HoldfastError if the service cannot take it now."""


class Courier:
    """Delivers one inbox, for as long as it has the lock of it."""

    def __init__(
        self, settings: Settings, inbox: Path, keep: Keep, *, idle: float = IDLE_SECONDS, away: float = AWAY_SECONDS
    ) -> None:
        self._settings = settings
        self._inbox = InboxReader(inbox)
        self._asking = Service(settings)
        self._keep = keep
        self._idle = idle
        self._away = away
        self._masked: dict[str, bool | None] = {}
        """Of each session that was asked about, whether its secrets are masked; None if it was deleted."""
        self._refusals = Refusals(settings.folder, SystemClock())
        ids = TimeOrderedIds()
        spool = Spool.create(settings.folder, leftovers.spool_name(settings.folder, settings.session_id, ids()))
        self._delivery = Delivery(settings, Service(settings), spool, self._refusals)

    def run(self) -> bool:
        """Deliver until nothing has come for a while; False if the service was away for too long."""
        self._delivery.start()
        try:
            return self._run()
        finally:
            self._delivery.stop(DRAIN_SECONDS)
            self._asking.close()

    def _run(self) -> bool:
        last = time.monotonic()
        while True:
            lines = self._inbox.peek(MOST_RECORDS)
            if lines:
                if not self._bring(lines):
                    return False
                last = time.monotonic()
                continue
            idle = time.monotonic() - last
            if idle >= min(self._idle, TIDY_SECONDS):
                self._inbox.tidy()
            if idle >= self._idle:
                return True
            time.sleep(LOOK_SECONDS)

    def _bring(self, lines: list[SpoolLine]) -> bool:
        """Deliver some records and settle them; False if the service was away for too long."""
        while lines:
            place, taken = None, 0
            for line in lines:
                taken += 1
                try:
                    if not self._until_done(partial(self._accept, line)):
                        return False
                    place = self._place(line)
                except Exception as error:
                    self._set_aside(line, error)
                if place is not None:
                    break
            if not self._until_done(partial(self._delivery.drain, DRAIN_SECONDS)):
                return False
            if place is not None and not self._until_done(partial(self._read, place)):
                return False
            self._inbox.settle(lines[taken - 1])
            lines = lines[taken:]
        return True

    def _accept(self, line: SpoolLine) -> None:
        """Hand what a record says to the delivery; what is accepted twice is delivered once."""
        record = _record(line.raw)
        self._know(record)
        masks = self._masked[record.session_id]
        for each in [] if masks is None else entries_of(record, masks=masks or record.masks):
            self._delivery.accept(to_line(each))

    def _place(self, line: SpoolLine) -> TranscriptPlace | None:
        """The transcript that is to be read at a record, if there is one."""
        record = _record(line.raw)
        masks = self._masked[record.session_id]
        return None if masks is None else transcript_of(record, masks=masks or record.masks)

    def _know(self, record: HookRecord) -> None:
        """Know whether a session's secrets are masked; one that is new is described first of all."""
        session_id = record.session_id
        if session_id in self._masked:
            return
        if len(self._masked) >= MOST_SESSIONS:
            self._masked.clear()
        try:
            found = self._asking.get(f"/api/sessions/{session_id}/resume", self._settings.timeout, limit=1)
        except NotFound:
            self._begin(record)
            self._know(record)
            return
        except SessionGone:
            note(self._inbox.folder, f"session {session_id} was deleted here: what its hooks report is left out")
            self._masked[session_id] = None
            return
        metadata = found["session"]["metadata"]
        masks = metadata.get("secrets") == SECRETS["secrets"]
        if record.event is not None:
            if record.masks and not masks and "source" not in metadata:  # begun by what keeps no lines
                self._change(record, "PATCH", "metadata", SECRETS, "sessionId")
                masks = True
            missing = [tag for tag in tags_of(record) if tag not in found["session"]["tags"]]
            if missing:
                self._change(record, "POST", "tags", {"add": missing}, "tags")
        self._masked[session_id] = masks

    def _begin(self, record: HookRecord) -> None:
        """Make a session; one that somebody else has made meanwhile is as they have made it."""
        answer = self._asking.send([described(record)])
        if isinstance(answer, RetryLater):
            raise ServiceAway(answer.reason)
        if isinstance(answer, ServiceRefusal) and answer.problem["status"] != Conflict.status:
            raise InvalidInput(str(answer.problem.get("detail")))

    def _change(self, record: HookRecord, method: str, what: str, body: object, proof: str) -> None:
        path = f"/api/sessions/{record.session_id}/{what}"
        made = SpoolEntry(f"{record.key}-{what}", method, path, proof, msgspec.Raw(msgspec.json.encode(body)))
        self._delivery.accept(to_line(made))

    def _set_aside(self, line: SpoolLine, error: Exception) -> None:
        """Keep a record that the service could never take, and say why; those behind it go on."""
        code = error.code if isinstance(error, HoldfastError) else "unreadable"
        why = error.message if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
        self._refusals.add(line.raw, {"code": code, "status": 400, "detail": why})
        note(self._inbox.folder, f"refused, it is in {self._refusals.path}: {why}")

    def _read(self, place: TranscriptPlace) -> None:
        """Read a transcript; what is wrong with it alone is noted, and does not stop the others."""
        try:
            self._keep(place)
        except HoldfastError as error:
            if problem(error)["status"] in PASSES:
                raise
            note(self._inbox.folder, f"transcript not kept: {place.file}: {error.message}")
        except Exception as error:
            note(self._inbox.folder, f"transcript not kept: {place.file}: {type(error).__name__}: {error}")

    def _until_done(self, work: Callable[[], None]) -> bool:
        """Do it as soon as the service is there; False if it was away for too long. InvalidInput is not waited for."""
        until = time.monotonic() + self._away
        for pause in _pauses():
            try:
                work()
                return True
            except (InvalidInput, TooLarge):
                raise
            except HoldfastError as error:
                if time.monotonic() > until:
                    note(self._inbox.folder, f"the courier ends, records wait: {error.message}")
                    return False
                if pause == 0:
                    note(self._inbox.folder, f"waiting: {error.message}")
            time.sleep(pause)
        return False


def _pauses() -> Iterator[float]:
    yield 0
    tries = 1
    while True:
        yield PAUSE.spread_pause(tries, random.random)
        tries += 1


def _record(raw: bytes) -> HookRecord:
    return as_sent(msgspec.json.decode(raw, type=HookRecord))
