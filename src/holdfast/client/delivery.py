"""Delivery: a thread that brings the spool to the service, in order, each entry once.

What waits at the same time goes in one request. What the service is away for waits, and is tried again ever less
often; an entry that it will never take is set aside. A refused or slow batch is sent again in halves, until the entry
that is to blame stands alone. A program's own session's leftovers go first; leftovers of other sessions take turns with
what is new.
"""

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.client import leftovers
from holdfast.client.entry import Entry, from_line
from holdfast.client.errors import AgentClosed, EntriesRefused, NotDelivered, SpoolFull
from holdfast.client.leftovers import Leftovers
from holdfast.client.refusals import Refusals
from holdfast.client.service import Acknowledged, Later, Refused, Service
from holdfast.client.settings import Settings
from holdfast.client.spool import Line, Spool

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


class Delivery:
    """The way from one program's spool to the service. All methods may be called from any thread."""

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
        self._changed = threading.Condition()
        self._accepted = 0
        self._settled = 0
        self._refused = 0
        self._unsaid = 0
        self._unsaid_problem: dict[str, Any] = {}
        """Refusals of this program's own entries that no flush has told of, and the first of them."""
        self._failures = 0
        self._streak = 0
        self._trouble: str | None = None
        self._waiting = 0
        self._hurried = False
        self._not_before = 0.0
        self._stop_at: float | None = None
        self._stop_failures = 0
        self._batch = MOST_ENTRIES
        self._turn = 0
        self._thread = threading.Thread(target=self._run, name="holdfast-delivery", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

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
        with self._changed:
            if self._stop_at is not None:
                raise AgentClosed("the agent was closed")
            used = sum(each.left.size for each in (self._spool, self._ours, self._others)) + self._refusals.size
            if used + len(line) > self._settings.spool_bytes:
                raise SpoolFull(
                    f"the spool {self._settings.folder} is full: {used} of {self._settings.spool_bytes} bytes",
                    hint=self._fullness(),
                    spooled=self.spooled,
                )
            self._spool.append(line)
            self._accepted += 1
            self._changed.notify_all()

    def flush(self, timeout: float) -> None:
        """Wait until all that was accepted is acknowledged; NotDelivered or EntriesRefused if it is not."""
        self.drain(timeout)
        with self._changed:
            told, self._unsaid = self._unsaid, 0
            problem = self._unsaid_problem
        if told:
            raise EntriesRefused(
                f"{told} entries were refused, the first with: {problem.get('detail')}",
                hint=f"they are in {self._refusals.path}",
                refused=told,
                problem=problem,
                file=str(self._refusals.path),
            )

    def drain(self, timeout: float) -> None:
        """Wait until all that was accepted is acknowledged or refused; NotDelivered if it is not."""
        if not self.wait(timeout, patient=True):
            raise NotDelivered(
                f"{self.spooled} entries wait in {self._settings.folder}: {self._trouble or 'there was no time'}",
                spooled=self.spooled,
            )

    def wait(self, timeout: float, *, patient: bool) -> bool:
        """Whether all that was accepted is settled in time; without patience, the first failure ends the wait."""
        with self._changed:
            accepted, failures = self._accepted, self._failures
            self._hurried = True
            self._waiting += 1
            self._changed.notify_all()
            try:
                self._changed.wait_for(
                    lambda: self._is_settled(accepted) or (not patient and self._failures > failures), timeout
                )
            finally:
                self._waiting -= 1
            return self._is_settled(accepted)

    def stop(self, timeout: float) -> None:
        """Deliver what can be delivered in that time, then end; the rest is for the next start."""
        with self._changed:
            self._stop_at = time.monotonic() + timeout
            self._stop_failures = self._failures
            self._changed.notify_all()
        self._thread.join(timeout)
        if self.spooled:
            log.warning("%s entries wait in %s for the next start", self.spooled, self._settings.folder)

    def _is_settled(self, accepted: int) -> bool:
        return self._settled >= accepted and self._ours.left.lines == 0

    def _run(self) -> None:
        try:
            while self._next():
                try:
                    self._deliver()
                except BlockingIOError:  # another program is at our session's leftovers
                    if self._stop_at is not None:
                        break
                    self._pause(HEIR_WAIT)
                except Exception as error:
                    log.exception("the delivery failed")
                    self._failed(Later(f"{type(error).__name__}: {error}"))
        finally:
            self._service.close()
            for each in (self._ours, self._others, self._spool):
                each.close()

    def _next(self) -> bool:
        """Wait until there is something to deliver; False if it is time to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._stop_at is not None or self._has_work())
            if self._stop_at is None:
                return True
            in_time = self._not_before <= time.monotonic() < self._stop_at
            return self.spooled > 0 and self._failures == self._stop_failures and in_time

    def _has_work(self) -> bool:
        return self._ours.pending or self._others.pending or self._spool.left.lines > 0

    def _deliver(self) -> None:
        """Send one batch of the spool whose turn it is, and do what the answer asks for."""
        spool = self._ours.first() or self._whose_turn()
        if spool.left.lines == 0:
            return
        lines = spool.peek(self._batch)
        if not lines:
            self._vanished(spool)
            return
        entries = _together(lines)
        if not entries:
            self._set_aside(spool, lines[0], UNREADABLE)
            return
        lines = lines[: len(entries)]
        answer = self._service.send(entries)
        if isinstance(answer, Acknowledged):
            self._batch = min(self._batch + self._batch // 4 + 1, MOST_ENTRIES)
            spool.settle(lines)
            self._settled_some(spool, len(lines))
        elif isinstance(answer, Refused) and len(lines) == 1:
            self._set_aside(spool, lines[0], answer.problem)
        elif isinstance(answer, Refused):
            self._batch = len(lines) // 2
        else:
            if answer.smaller:
                self._batch = max(len(lines) // 2, 1)
            self._failed(answer)

    def _whose_turn(self) -> Spool:
        self._turn += 1
        if self._stop_at is not None or (self._spool.left.lines and self._turn % 2):
            return self._spool
        return self._others.first() or self._spool

    def _set_aside(self, spool: Spool, line: Line, problem: dict[str, Any]) -> None:
        self._refusals.add(line.raw, problem)
        log.warning("the service refused an entry, it is in %s: %s", self._refusals.path, problem.get("detail"))
        spool.settle([line])
        self._settled_some(spool, 1, problem)

    def _vanished(self, spool: Spool) -> None:
        """Somebody has removed the files: nothing can be done but say so."""
        gone = spool.give_up()
        problem = {"code": "spool_removed", "detail": f"{gone} entries were removed from {spool.path} before delivery"}
        log.error(problem["detail"])
        self._settled_some(spool, gone, problem)

    def _settled_some(self, spool: Spool, lines: int, problem: dict[str, Any] | None = None) -> None:
        with self._changed:
            if problem is not None:
                self._refused += lines
            if problem is not None and spool is self._spool:
                self._unsaid_problem = self._unsaid_problem if self._unsaid else problem
                self._unsaid += lines
            if spool is self._spool:
                self._settled += lines
            if self._streak >= WORTH_SAYING:
                log.warning("%s takes entries again", self._settings.url)
            self._trouble, self._streak = None, 0
            self._changed.notify_all()

    def _failed(self, answer: Later) -> None:
        """Say it once, see that what waits is on the disk itself, let others try what is not our own, and wait."""
        with self._changed:
            self._trouble = answer.reason
            self._failures += 1
            self._streak += 1
            if self._streak == WORTH_SAYING:
                log.warning("%s; entries wait in %s", answer.reason, self._settings.folder)
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._spool.sync()
        self._ours.put_back()
        self._others.put_back()
        if answer.wait is not None:
            wait = max(answer.wait, FIRST_WAIT) * (1 + self._chance() / 10)
            self._not_before = time.monotonic() + wait
            self._pause(wait, hurry=False)
        else:
            longest = EAGER_WAIT if self._waiting else LONGEST_WAIT
            self._pause(min(FIRST_WAIT * 2 ** min(self._streak - 1, 10), longest) * (0.5 + self._chance() / 2))

    def _pause(self, seconds: float, *, hurry: bool = True) -> None:
        """Wait; shorter if the agent is closed, or if somebody begins to wait for the delivery."""
        with self._changed:
            self._hurried = False
            self._changed.wait_for(lambda: self._stop_at is not None or (hurry and self._hurried), seconds)

    def _fullness(self) -> str:
        if self._refusals.size > self._settings.spool_bytes // 2:
            return f"move {self._refusals.path} away: most of the room is what the service refused"
        return SpoolFull.hint or ""


def _together(lines: Sequence[Line]) -> list[Entry]:
    """The entries that go in one request: the first, and those after it that join it; none if it is unreadable."""
    found: list[Entry] = []
    for line in lines:
        entry = from_line(line.raw)
        if entry is None or (found and not (entry.joins and found[0].joins and entry.path == found[0].path)):
            break
        found.append(entry)
    return found
