"""Delivery: a thread that brings the spool to the service, in order, each entry once.

What waits at the same time goes in one request. What the service is away for waits, and is tried again ever less
often; an entry that it will never take is set aside. A refused or slow batch is sent again in halves, until the entry
that is to blame stands alone. A program's own session's leftovers go first; leftovers of other sessions take turns with
what is new.

Whoever calls may be interrupted between any two statements, or be a signal handler that has interrupted another call.
So no call holds what the thread needs: it leaves a line in the spool or asks to be told, and wakes the thread through a
queue. What there is to know of the delivery is changed by the thread alone.
"""

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from holdfast.client import leftovers
from holdfast.client.entry import SpoolEntry, from_line
from holdfast.client.errors import AgentClosed, EntriesRefused, NotDelivered, SpoolFull
from holdfast.client.leftovers import Leftovers
from holdfast.client.refusals import Refusals
from holdfast.client.segments import SpoolLine, SpoolPlace
from holdfast.client.service import Acknowledgement, RetryLater, Service, ServiceRefusal
from holdfast.client.settings import Settings
from holdfast.client.spool import SegmentMissing, Spool
from holdfast.core.retry import Backoff

MOST_ENTRIES = 500
"""Entries in one request."""
FIRST_WAIT = 0.05
LONGEST_WAIT = 10.0
EAGER_WAIT = 0.5
"""The longest wait while somebody waits for the delivery."""
HEIR_WAIT = 0.05
WORTH_SAYING = 2
"""Failures in a row: one alone may be a connection that had grown old."""
UNREADABLE = {"code": "unreadable", "status": 400, "detail": "the line is damaged"}

log = logging.getLogger("holdfast.client")


class Refusal(NamedTuple):
    """How many of the program's own entries were refused so far, and what the first was told that no flush told of."""

    number: int
    problem: dict[str, Any]


class DeliveryStop(NamedTuple):
    """Until when to deliver, and how many failures there were when it was asked for: one more is the end."""

    at: float
    failures: int


class Delivery:
    """The way from one program's spool to the service. All methods may be called from any thread, and by a handler."""

    def __init__(
        self,
        settings: Settings,
        service: Service,
        spool: Spool,
        refusals: Refusals,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._service = service
        self._spool = spool
        self._refusals = refusals
        self._chance = chance
        found = leftovers.find(settings.folder)
        ours = [path for path in found if leftovers.session_of(path) == settings.session_id]
        self._ours = Leftovers(ours, wait=True)
        self._others = Leftovers([path for path in found if path not in ours], wait=False)
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._waiters: dict[SimpleQueue[None], float] = {}
        """Who waits for news, and until when."""
        self._stop: DeliveryStop | None = None
        self._told = 0
        """The refusals of our own that a flush has told of."""
        self._only = threading.Lock()
        """Held by the thread that delivers, so that there is one, however often it was started."""
        self._started = self._ended = False
        self._refused = 0
        self._own_refusal = Refusal(0, {})
        self._failures = 0
        self._streak = 0
        self._trouble: str | None = None
        self._not_before = 0.0
        self._batch = MOST_ENTRIES
        self._turn = 0

    def start(self) -> None:
        """Begin to deliver, unless that was done; a call that is interrupted can be made again."""
        if not self._started:
            threading.Thread(target=self._run, name="holdfast-delivery", daemon=True).start()
            self._started = True

    @property
    def trouble(self) -> str | None:
        """Why nothing is delivered at present; None if all is well."""
        return self._trouble

    @property
    def refused(self) -> int:
        """How many entries were set aside."""
        return self._refused

    @property
    def spooled(self) -> int:
        """How many entries of the session wait."""
        return self._ours.left.lines + self._spool.left.lines

    def accept(self, line: bytes) -> None:
        """Keep an entry and deliver it in its turn; SpoolFull if there is no room for it."""
        if self._stop is not None:
            raise AgentClosed("the agent was closed")
        bound = self._settings.spool_bytes
        others = self._ours.left.size + self._others.left.size + self._refusals.size
        if not self._spool.append(line, bound - others):
            left = self._spool.left
            raise SpoolFull(
                f"the spool {self._settings.folder} is full: {others + left.size} of {bound} bytes",
                hint=self._fullness(),
                spooled=self._ours.left.lines + left.lines,
            )
        self._stir()

    def flush(self, timeout: float) -> None:
        """Wait until all that was accepted is acknowledged; NotDelivered or EntriesRefused if it is not."""
        self.drain(timeout)
        refusal = self._own_refusal
        told = refusal.number - self._told
        if told:
            error = EntriesRefused(
                f"{told} entries were refused, the first with: {refusal.problem.get('detail')}",
                hint=f"they are in {self._refusals.path}",
                refused=told,
                problem=refusal.problem,
                file=str(self._refusals.path),
            )
            try:
                raise error
            except EntriesRefused:  # what interrupts it before leaves it for the next flush to tell
                self._told = refusal.number
                raise

    def drain(self, timeout: float) -> None:
        """Wait until all that was accepted is acknowledged or refused; NotDelivered if it is not."""
        if not self.wait(timeout, patient=True):
            raise NotDelivered(
                f"{self.spooled} entries wait in {self._settings.folder}: {self._trouble or 'there was no time'}",
                spooled=self.spooled,
            )

    def wait(self, timeout: float, *, patient: bool) -> bool:
        """Whether all that was accepted is settled in time; without patience, the first failure ends the wait."""
        end, failures = self._spool.end, self._failures
        self._until(lambda: self._is_settled(end) or (not patient and self._failures > failures), timeout)
        return self._is_settled(end)

    def stop(self, timeout: float) -> None:
        """Deliver what can be delivered in that time, then end; the rest is for the next start."""
        self._stop = DeliveryStop(time.monotonic() + timeout, self._failures)
        with contextlib.suppress(RuntimeError):  # the program ends: there are no more threads
            self.start()
        self._until(lambda: not self._started, timeout)
        if self.spooled:
            log.warning("%s entries wait in %s for the next start", self.spooled, self._settings.folder)

    def _until(self, reached: Callable[[], bool], timeout: float) -> None:
        """Wait until it is so, the time is up or the delivery has ended."""
        deadline = time.monotonic() + timeout
        news: SimpleQueue[None] = SimpleQueue()
        try:
            self._waiters[news] = deadline
            self._stir()
            while not (reached() or self._ended) and (left := deadline - time.monotonic()) > 0:
                with contextlib.suppress(Empty):
                    news.get(timeout=left)
        finally:
            self._waiters.pop(news, None)

    def _stir(self) -> None:
        """Wake the thread that delivers."""
        if self._wake.empty():
            self._wake.put(None)

    def _is_settled(self, end: SpoolPlace) -> bool:
        return self._spool.reached >= end and self._ours.left.lines == 0

    def _run(self) -> None:
        if not self._only.acquire(blocking=False):
            return
        with contextlib.ExitStack() as end:
            end.callback(self._tell)
            end.callback(setattr, self, "_ended", True)
            for each in (self._spool, self._others, self._ours, self._service):
                end.callback(each.close)
            while self._next():
                try:
                    self._deliver()
                    self._spool.renew()
                except BlockingIOError:  # another program is at our session's leftovers
                    if self._stop is not None:
                        break
                    self._pause(HEIR_WAIT)
                except Exception as error:
                    log.exception("the delivery failed")
                    self._failed(RetryLater(f"{type(error).__name__}: {error}"))

    def _tell(self) -> None:
        """Let everybody who waits look again; forget those whose time is up."""
        now = time.monotonic()
        for news, until in list(self._waiters.items()):
            if until < now:
                self._waiters.pop(news, None)
            elif news.empty():
                news.put(None)

    def _next(self) -> bool:
        """Wait until there is something to deliver; False if it is time to end."""
        while self._stop is None:
            if self._has_work():
                return True
            self._tell()
            self._wake.get()
        in_time = self._not_before <= time.monotonic() < self._stop.at
        left = self._ours.left.lines > 0 or self._spool.has_more
        return left and self._failures == self._stop.failures and in_time

    def _has_work(self) -> bool:
        return self._ours.pending or self._others.pending or self._spool.has_more

    def _deliver(self) -> None:
        """Send one batch of the spool whose turn it is, and do what the answer asks for."""
        spool = self._ours.first() or self._whose_turn()
        try:
            lines = spool.peek(self._batch)
        except SegmentMissing as gone:
            self._vanished(spool, gone.lines)
            return
        if not lines:
            return
        entries = _together(lines)
        if not entries:
            self._set_aside(spool, lines[0], UNREADABLE)
            return
        lines = lines[: len(entries)]
        answer = self._service.send(entries)
        if isinstance(answer, Acknowledgement):
            self._batch = min(self._batch + self._batch // 4 + 1, MOST_ENTRIES)
            spool.settle(lines)
            self._is_well()
        elif isinstance(answer, ServiceRefusal) and len(lines) == 1:
            self._set_aside(spool, lines[0], answer.problem)
        elif isinstance(answer, ServiceRefusal):
            self._batch = len(lines) // 2
        else:
            if answer.smaller:
                self._batch = max(len(lines) // 2, 1)
            self._failed(answer)

    def _whose_turn(self) -> Spool:
        self._turn += 1
        if self._stop is not None or (self._spool.has_more and self._turn % 2):
            return self._spool
        return self._others.first() or self._spool

    def _set_aside(self, spool: Spool, line: SpoolLine, problem: dict[str, Any]) -> None:
        self._refusals.add(line.raw, problem)
        log.warning("the service refused an entry, it is in %s: %s", self._refusals.path, problem.get("detail"))
        self._note_refusal(spool, 1, problem)
        spool.settle([line])
        self._is_well()

    def _vanished(self, spool: Spool, gone: int) -> None:
        """Somebody has removed the files: nothing can be done but say so."""
        problem = {"code": "spool_removed", "detail": f"{gone} entries were removed from {spool.path} before delivery"}
        log.error(problem["detail"])
        self._note_refusal(spool, gone, problem)
        self._is_well()

    def _note_refusal(self, spool: Spool, lines: int, problem: dict[str, Any]) -> None:
        self._refused += lines
        if spool is self._spool:
            before = self._own_refusal
            self._own_refusal = Refusal(
                before.number + lines, before.problem if before.number > self._told else problem
            )

    def _is_well(self) -> None:
        """Something is settled."""
        if self._streak >= WORTH_SAYING:
            log.warning("%s takes entries again", self._settings.url)
        self._trouble, self._streak = None, 0
        self._tell()

    def _failed(self, answer: RetryLater) -> None:
        """Say it once, see that what waits is on the disk itself, let others try what is not our own, and wait."""
        self._trouble = answer.reason
        self._failures += 1
        self._streak += 1
        if self._streak == WORTH_SAYING:
            log.warning("%s; entries wait in %s", answer.reason, self._settings.folder)
        self._tell()
        with contextlib.suppress(OSError):
            self._spool.sync()
        self._ours.put_back()
        self._others.put_back()
        if answer.wait is not None:
            wait = max(answer.wait, FIRST_WAIT) * (1 + self._chance() / 10)
            self._not_before = time.monotonic() + wait
            self._pause(wait, hurry=False)
        else:
            longest = EAGER_WAIT if self._waiters else LONGEST_WAIT
            self._pause(Backoff(FIRST_WAIT, longest).spread_pause(self._streak, self._chance))

    def _pause(self, seconds: float, *, hurry: bool = True) -> None:
        """Wait; shorter if the agent is closed, or if somebody begins to wait for the delivery."""
        deadline, before = time.monotonic() + seconds, set(self._waiters)
        while self._stop is None and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(Empty):
                self._wake.get(timeout=left)
            self._spool.renew()
            if hurry and self._waiters.keys() - before:
                return

    def _fullness(self) -> str:
        if self._refusals.size > self._settings.spool_bytes // 2:
            return f"move {self._refusals.path} away: most of the room is what the service refused"
        return SpoolFull.hint or ""


def _together(lines: Sequence[SpoolLine]) -> list[SpoolEntry]:
    """The entries that go in one request: the first, and those after it that join it; none if it is unreadable."""
    found: list[SpoolEntry] = []
    for line in lines:
        entry = from_line(line.raw)
        if entry is None or (found and not (entry.joins and found[0].joins and entry.path == found[0].path)):
            break
        found.append(entry)
    return found
