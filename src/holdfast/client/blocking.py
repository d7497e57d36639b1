"""The hook agent for programs without an event loop; the other one, in `agent`, is this one with async methods.

A call that reports something keeps it in the spool and returns: it waits for no network and no other program. Delivery
is a thread's work. Calls that ask the service something, `resume`, `test_connection` and `flush`, wait for it, and say
so when it does not answer in time. All of it may be called from any thread and from a signal handler, and any call may
be interrupted by an exception of one: what had returned before is delivered, and the next call finds all in order.
"""

import atexit
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from holdfast.client import entry, leftovers
from holdfast.client.action_span import ActionSpan, Function, logged
from holdfast.client.delivery import Delivery
from holdfast.client.dictionaries import EventFields, action_in, agent_in, goal_in, response_in
from holdfast.client.entry import SpoolEntry
from holdfast.client.errors import AgentClosed, ServiceAway
from holdfast.client.refusals import Refusals
from holdfast.client.resume import ResumedSession
from holdfast.client.service import Service
from holdfast.client.settings import DEFAULT_SPOOL_BYTES, DEFAULT_TIMEOUT, Settings
from holdfast.client.spool import Spool
from holdfast.core import HoldfastError, SystemClock, TimeOrderedIds, types
from holdfast.core.clock import from_iso
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.statuses import COMPLETED, MEDIUM, PENDING, AgentEnd, GoalPriority, GoalStatus

DEFAULT_EVENTS = 200
SHORTEST_WAIT = 0.5

log = logging.getLogger("holdfast.client")


class HookAgentBlocking:
    """Reports what a program does to a session service, without losing anything and without holding the program up."""

    def __init__(
        self,
        session_id: str | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        spool: str | Path | None = None,
        spool_bytes: int = DEFAULT_SPOOL_BYTES,
    ) -> None:
        self._clock = SystemClock()
        self._ids = TimeOrderedIds(self._clock)
        self._settings = Settings.of(
            os.environ,
            self._ids,
            session_id=session_id,
            url=url,
            token=token,
            timeout=timeout,
            spool=spool,
            spool_bytes=spool_bytes,
        )
        self._service = Service(self._settings)
        self._begun: dict[None, Delivery] = {}
        """The delivery, once it is begun: whoever is first puts it there, and there it stays."""
        self._closed = False
        self._pid = os.getpid()
        self.resumed: ResumedSession | None = None
        """What entering found of a session that was there; None for a new one, or if the service was away."""
        if not self._settings.known:
            log.warning("this is session %s; set SESSION_ID to go on with it", self.session_id)

    @property
    def session_id(self) -> str:
        """The session that is reported on."""
        return self._settings.session_id

    @property
    def spool(self) -> Path:
        """The folder that holds the spool, and in `refused.jsonl` what the service will not take."""
        return self._settings.folder

    @property
    def spooled(self) -> int:
        """How many entries of the session wait for the service."""
        return self._delivery.spooled if self._delivery is not None else 0

    @property
    def refused(self) -> int:
        """How many entries the service refused since the agent was made."""
        return self._delivery.refused if self._delivery is not None else 0

    @property
    def trouble(self) -> str | None:
        """Why nothing is delivered at present; None if all is well."""
        return self._delivery.trouble if self._delivery is not None else None

    def __enter__(self) -> "HookAgentBlocking":
        delivery = self._running()
        if self._settings.known:
            deadline = time.monotonic() + self._settings.timeout
            try:
                if not delivery.wait(self._settings.timeout, patient=False):
                    raise ServiceAway(delivery.trouble or "what was spooled before could not be delivered in time")
                self.resumed = self._ask_to_resume(DEFAULT_EVENTS, max(deadline - time.monotonic(), SHORTEST_WAIT))
            except NotFound:
                log.info("session %s is new", self.session_id)
            except HoldfastError as error:
                log.warning("session %s goes on without being resumed: %s", self.session_id, error.message)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def test_connection(self) -> bool:
        """Whether the service would take an entry now; the log says why not."""
        self._check_open()
        reason = self._service.why_not(self.session_id)
        if reason is not None:
            log.warning("%s", reason)
        return reason is None

    def create_session(
        self,
        user_id: str | None = None,
        *,
        agent: str | None = None,
        initial: Any = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        parent_session: str | None = None,
    ) -> str:
        """Describe the session; its id. A session is described once: what was resumed has its description."""
        self._accept(
            entry.described(
                self.session_id,
                self._ids(),
                user_id=user_id,
                agent=agent,
                initial=initial,
                tags=tags,
                metadata=metadata,
                parent_session=parent_session,
            )
        )
        return self.session_id

    def log_action(
        self,
        type: str | Mapping[str, Any],
        details: Any = None,
        *,
        timestamp: str | int | None = None,
        parent_id: str | None = None,
    ) -> str:
        """Log an action; its event id. It happened now, or at `timestamp`: ISO 8601, or milliseconds since 1970.

        One mapping, `{"type": …, "details": …}`, does as well; without `details`, its other members are the details.
        """
        given = EventFields(type, details, {})
        if isinstance(type, Mapping):
            _check_alone(details, timestamp, parent_id)
            given = action_in(type)
        return self._append(given.type, given.details, {"timestamp": timestamp, "parent_id": parent_id} | given.named)

    def log_response(self, details: Any, *, timestamp: str | int | None = None, parent_id: str | None = None) -> str:
        """Log a response; its event id. A mapping with `details` may have the time and the parent in it."""
        given = response_in(details)
        if given.named:
            _check_alone(timestamp, parent_id)
        named = {"timestamp": timestamp, "parent_id": parent_id} | given.named
        return self._append(types.RESPONSE, given.details, named)

    def _append(self, type: Any, details: Any, named: dict[str, Any]) -> str:
        key = self._ids()
        when = self._when(named.pop("timestamp"))
        self._accept(entry.appended(self.session_id, key, type, details, timestamp=when, **named))
        return str(named.get("event_id") or key)

    def update_state(self, patch: Mapping[str, Any]) -> None:
        """Merge a patch into the session's state: objects merge, arrays and scalars replace, None removes."""
        self._accept(entry.state_patch(self.session_id, self._ids(), patch))

    def add_goal(
        self,
        description: str | Mapping[str, Any],
        *,
        goal_id: str | None = None,
        status: GoalStatus = PENDING,
        priority: GoalPriority = MEDIUM,
    ) -> str:
        """Add a goal; its id, which is made here if none is given, so that nobody waits for it.

        One mapping, `{"description": …, "goalId": …}`, does as well.
        """
        given: dict[str, Any] = {"description": description, "goal_id": goal_id, "status": status, "priority": priority}
        if isinstance(description, Mapping):
            _check_alone(goal_id)
            given |= goal_in(description)
        key = self._ids()
        name = given["goal_id"] or f"goal-{key}"
        times = {
            member: self._when(given[argument])
            for member, argument in (("createdAt", "created_at"), ("completedAt", "completed_at"))
            if argument in given
        }
        about = (given["description"],)
        more = {"status": given["status"], "priority": given["priority"], "times": times}
        self._accept(entry.new_goal(self.session_id, key, name, *about, **more))
        return str(name)

    def update_goal(
        self,
        goal_id: str,
        status: GoalStatus | None = None,
        *,
        description: str | None = None,
        priority: GoalPriority | None = None,
    ) -> None:
        """Change a goal."""
        asked = {"status": status, "description": description, "priority": priority}
        changes = {name: value for name, value in asked.items() if value is not None}
        self._accept(entry.goal_change(self.session_id, self._ids(), goal_id, changes))

    def spawn_agent(self, type: str | Mapping[str, Any], task: Any = None, *, agent_id: str | None = None) -> str:
        """Report a sub-agent; its id, which is made here if none is given.

        One mapping, `{"type": …, "task": …}`, does as well.
        """
        given: dict[str, Any] = {"type": type, "task": task, "agent_id": agent_id}
        if isinstance(type, Mapping):
            _check_alone(task, agent_id)
            given |= agent_in(type)
        key = self._ids()
        name = str(given["agent_id"] or f"agent-{key}")
        spawned_at = self._when(given["spawned_at"]) if "spawned_at" in given else None
        self._accept(entry.new_agent(self.session_id, key, name, given["type"], given["task"], spawned_at=spawned_at))
        return name

    def complete_agent(self, agent_id: str, result: Any = None, *, status: AgentEnd = COMPLETED) -> None:
        """Report a sub-agent's end."""
        self._accept(entry.agent_end(self.session_id, self._ids(), agent_id, status=status, result=result))

    def acting(self, type: str, details: Any = None) -> ActionSpan:
        """Log a piece of work as an action: `with agent.acting("book", {"seat": 3}) as output: …`."""
        return ActionSpan(self.log_action, type, details)

    def action(self, type: str | None = None) -> Callable[[Function], Function]:
        """Log each call of a function, async or not, as an action; of its own name if none is given."""
        return lambda function: logged(function, lambda: self.acting(type or function.__qualname__))

    def resume(self, limit: int = DEFAULT_EVENTS, *, timeout: float | None = None) -> ResumedSession:
        """The session as it is once everything logged so far is in it; NotFound if there is none."""
        self._running().drain(self._settings.timeout if timeout is None else timeout)
        return self._ask_to_resume(limit, self._settings.timeout)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until the service has acknowledged all that was logged; NotDelivered or EntriesRefused if it has not."""
        self._running().flush(self._settings.timeout if timeout is None else timeout)

    def close(self, timeout: float | None = None) -> None:
        """Deliver what the service takes in that time and end; what is left is in the spool for the next start."""
        if self._pid != os.getpid():
            return
        self._closed = True
        if self._delivery is not None:
            self._delivery.stop(self._settings.timeout if timeout is None else timeout)
        atexit.unregister(self.close)

    def _accept(self, made: SpoolEntry) -> None:
        self._running().accept(entry.to_line(made))

    @property
    def _delivery(self) -> Delivery | None:
        return self._begun.get(None)

    def _running(self) -> Delivery:
        """The delivery, begun by the first call that needs it."""
        self._check_open()
        found = self._delivery or self._begin()
        found.start()
        return found

    def _begin(self) -> Delivery:
        """Make the delivery; what was made is thrown away if another call was sooner, or interrupts this one."""
        settings, made = self._settings, None
        name = leftovers.spool_name(settings.folder, settings.session_id, self._ids())
        spool = Spool.create(settings.folder, name)
        try:
            made = Delivery(settings, self._service, spool, Refusals(settings.folder, self._clock))
            atexit.register(self.close)
            found = self._begun.setdefault(None, made)
        finally:
            if made is None or self._delivery is not made:
                spool.close()
        if found is made and settings.shared:
            _tell_of_neglected(settings.folder)
        return found

    def _check_open(self) -> None:
        if self._closed:
            raise AgentClosed("the agent was closed")
        if self._pid != os.getpid():
            raise AgentClosed(f"the agent belongs to process {self._pid}, and this one was forked from it")

    def _ask_to_resume(self, limit: int, timeout: float) -> ResumedSession:
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidInput(f"limit must be a number of events, not {limit!r:.80}")
        return ResumedSession.of(self._service.get(f"/api/sessions/{self.session_id}/resume", timeout, limit=limit))

    def _when(self, timestamp: str | int | None) -> int:
        if timestamp is None:
            return self._clock.now()
        return from_iso(timestamp) if isinstance(timestamp, str) else int(timestamp)


def _tell_of_neglected(folder: Path) -> None:
    for other, left in leftovers.neglected(folder):
        log.warning(
            "%s entries of programs with another address or token wait in %s; to send them from here, move them to %s",
            left.lines,
            other,
            folder,
        )


def _check_alone(*others: Any) -> None:
    """InvalidInput if a mapping comes with other arguments, which could only contradict it."""
    if any(other is not None for other in others):
        raise InvalidInput("a call has one mapping, or arguments", hint="put everything into the mapping")
