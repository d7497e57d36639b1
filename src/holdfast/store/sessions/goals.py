"""Goals: what a session is to reach, each change an event."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from holdfast.core import Goal
from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.event_bodies import GoalAdded, GoalChanges, GoalUpdated
from holdfast.core.ids import check_name, check_session_id
from holdfast.core.statuses import ENDED_GOALS, GOAL_PRIORITIES, GOAL_STATUSES, MEDIUM, PENDING, GoalStatus, one_of
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import Head, existing_head, head_of
from holdfast.store.log.prepare import PreparedEvent, at_time, check_most, with_body
from holdfast.store.log.projection import Child, changed_goal, new_goal
from holdfast.store.log.replay import KnownEvent, conflict_with, find_replays, first_body, known_before
from holdfast.store.log.rows import GOALS
from holdfast.store.part import Part

MAX_DESCRIPTION = 16 * 1024
NAME_TRIES = 100


class _End(NamedTuple):
    """The event that ends a goal, before the goal has its name, and what it changes."""

    draft: PreparedEvent
    changes: GoalChanges


class Goals(Part):
    """`store.goals`."""

    __slots__ = ()

    async def add(
        self,
        session_id: str,
        description: str,
        *,
        goal_id: str | None = None,
        status: str = PENDING,
        priority: str = MEDIUM,
        created_at: int | None = None,
        completed_at: int | None = None,
        idempotency_key: str | None = None,
        create: bool = True,
    ) -> Goal:
        """A new goal, named `goal-001` and so on if no name is given; Conflict if the name is another goal's.

        One that is there already, by this name and description, is answered as replayed, and a key is kept with it.
        One that has ended already, later than it was set, is set and then changed.
        """
        check_session_id(session_id)
        if goal_id is not None:
            check_name(goal_id, "a goal's id")
        given = check_goal({"description": description, "status": status, "priority": priority})
        end = self._end(given["status"], created_at, completed_at)
        if end is not None:
            given["status"] = PENDING
        draft = at_time(self.own_draft(GoalAdded, idempotency_key), created_at)

        def write(tx: Tx) -> Goal:
            head = head_of(tx, self.tenant, session_id)
            known = known_before(tx, head, draft) if head is not None else None
            if head is not None and known is not None:
                if known.type == GoalUpdated.TYPE:
                    return self._kept(tx, head, known, goal_id, description)
                first = _first_result(known, given, goal_id, end)
                return replace(first, replayed=known.event_id != draft.event_id)
            number = GOALS.next_number(tx, head.session_no) if head is not None else 1
            name = goal_id or _free_name(tx, head, number) or f"goal-{self.ids()}"
            body = GoalAdded(name, **given)
            child = new_goal(number, body, draft.created_at)
            there = GOALS.get(tx, head.session_no, name) if head is not None else None
            if there is not None:
                if there.document["description"] != description or goal_id is None:
                    raise Conflict(f"there is a goal {name!r} already, and it is another one", goal_id=name)
                if idempotency_key is not None:
                    same = GoalUpdated(name, {"description": description})
                    append(tx, self.tenant, session_id, [with_body(draft, same)])
                return replace(as_goal(name, there), replayed=True)
            events = [with_body(draft, body)]
            if end is not None:
                change = GoalUpdated(name, end.changes)
                events.append(with_body(end.draft, change))
                child = changed_goal(child, change, end.draft.created_at)
            append(tx, self.tenant, session_id, events, create=create)
            GOALS.put(tx, existing_head(tx, self.tenant, session_id).session_no, {name: child})
            return as_goal(name, child)

        return await self.write(session_id, write)

    def _kept(self, tx: Tx, head: Head, known: KnownEvent, goal_id: str | None, description: str) -> Goal:
        """The goal that was there already when this key was used to add it, by an event that changed nothing."""
        first = first_body(known, GoalUpdated)
        there = None if goal_id is None else GOALS.get(tx, head.session_no, goal_id)
        if there is None or goal_id is None or first != GoalUpdated(goal_id, {"description": description}):
            raise conflict_with(known)
        return replace(as_goal(goal_id, there), replayed=True)

    def _end(self, status: GoalStatus, created_at: int | None, completed_at: int | None) -> "_End | None":
        """The event that ends a new goal, if it ended at another time than it was set."""
        if completed_at is None:
            return None
        one_of(ENDED_GOALS, status, f"a goal that is {status} has no completedAt")
        if completed_at == created_at:
            return None
        return _End(at_time(self.own_draft(GoalUpdated), completed_at), {"status": status})

    async def update(
        self,
        session_id: str,
        goal_id: str,
        changes: Mapping[str, Any],
        *,
        completed_at: int | None = None,
        idempotency_key: str | None = None,
    ) -> Goal:
        """The goal after changing its status, description or priority; NotFound if there is none."""
        check_session_id(session_id)
        body = GoalUpdated(check_name(goal_id, "a goal's id"), check_goal(changes))
        if not changes:
            raise InvalidInput("there is nothing to change", hint="give a status, description or priority")
        event = self.own_event(body, idempotency_key)
        if completed_at is not None:
            if body.changes.get("status") not in ENDED_GOALS:
                raise InvalidInput("completedAt goes with a status that ends the goal")
            event = at_time(event, completed_at)

        def write(tx: Tx) -> Goal:
            head = existing_head(tx, self.tenant, session_id)
            before = GOALS.get(tx, head.session_no, goal_id)
            if before is None:
                raise NotFound(f"session {session_id!r} has no goal {goal_id!r}", goal_id=goal_id)
            if find_replays(tx, head, [event]):
                return as_goal(goal_id, before)
            append(tx, self.tenant, session_id, [event])
            after = changed_goal(before, body, event.created_at)
            GOALS.put(tx, head.session_no, {goal_id: after})
            return as_goal(goal_id, after)

        return await self.write(session_id, write)

    async def list(self, session_id: str) -> list[Goal]:
        """The session's goals in the order they were added."""
        check_session_id(session_id)
        return await self.workers.read(lambda tx: goals_of(tx, existing_head(tx, self.tenant, session_id).session_no))


def goals_of(tx: Tx, session_no: int) -> "list[Goal]":
    """The session's goals."""
    return [as_goal(name, child) for name, child in GOALS.all(tx, session_no).items()]


def check_goal(body: Mapping[str, Any]) -> GoalChanges:
    """A goal's description, status and priority, those that are given, or InvalidInput."""
    if not isinstance(body, Mapping):
        raise InvalidInput("the changes of a goal must be a JSON object")
    for name, value in body.items():
        allowed = {"status": GOAL_STATUSES, "priority": GOAL_PRIORITIES, "description": None}.get(name, ())
        if allowed is None:
            if not isinstance(value, str):
                raise InvalidInput("a goal's description must be text")
            check_most(value, MAX_DESCRIPTION, "a goal's description")
        if allowed is not None and value not in allowed:
            hint = f"one of {', '.join(allowed)}" if allowed else "description, status or priority"
            raise InvalidInput(f"a goal has no {name} {value!r:.80}", hint=hint)
    return cast(GoalChanges, dict(body))


def as_goal(goal_id: str, child: Child) -> Goal:
    """A row as a goal."""
    known = child.document
    times = (known["createdAt"], known.get("completedAt"))
    return Goal(goal_id, known["description"], child.status, known["priority"], *times)


def _free_name(tx: Tx, head: Head | None, number: int) -> str | None:
    """A name for the goal of this number; None if callers have taken all that are near."""
    for name in (f"goal-{each:03}" for each in range(number, number + NAME_TRIES)):
        if head is None or GOALS.get(tx, head.session_no, name) is None:
            return name
    return None


def _first_result(known: KnownEvent, given: GoalChanges, goal_id: str | None, end: _End | None) -> Goal:
    """The goal as it was added first: what a retry is told."""
    first = first_body(known, GoalAdded)
    if first != GoalAdded(goal_id or first.goal_id, **given):
        raise conflict_with(known)
    made = new_goal(0, first, known.created_at)
    if end is not None:
        made = changed_goal(made, GoalUpdated(first.goal_id, end.changes), end.draft.created_at)
    return as_goal(first.goal_id, made)
