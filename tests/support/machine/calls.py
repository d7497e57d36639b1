"""What each step of a plan asks of a store, and by which event its mark is found again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.machine.plan import Step

from holdfast.core import Event, Lease, NewEvent, TaskState, types
from holdfast.core.errors import NotFound
from holdfast.store import Store

LEASE_MS = 3_600_000


@dataclass(slots=True)
class Caller:
    """Whoever makes the calls on one engine, and the leases it was given."""

    store: Store
    leases: dict[str, Lease] = field(default_factory=dict)

    async def make(self, step: Step) -> Any:
        """Make the call of a step."""
        return await CALLS[step.what](self, step)


def note(step: Step, **more: Any) -> NewEvent:
    return NewEvent("note", {"m": step.mark}, idempotency_key=step.key, **more)


def about(step: Step) -> str:
    """The mark of the step that this one is about."""
    return step.of.mark if step.of is not None else "nothing"


async def append(c: Caller, step: Step) -> Any:
    return await c.store.append(step.session, [note(step)])


async def batch(c: Caller, step: Step) -> Any:
    events = [
        NewEvent(
            "note",
            {"m": step.mark, "part": part},
            event_id=f"{step.mark}-{part}",
            parent_id=f"{step.mark}-{part - 1}" if part else None,
            idempotency_key=f"{step.key} {part}" if step.keyed else None,
        )
        for part in range(3)
    ]
    return await c.store.append(step.session, events)


async def child(c: Caller, step: Step) -> Any:
    log = await c.store.newest(step.session, limit=1)
    parent = log[-1].event_id if log else None
    event = NewEvent("note", {"m": step.mark}, parent_id=parent, idempotency_key=step.key)
    return await c.store.append(step.session, [event], create=False)


async def expect(c: Caller, step: Step) -> Any:
    head = (await c.store.sessions.get(step.session)).head_seq
    return await c.store.append(step.session, [note(step)], expected_seq=head - step.number % 3 // 2)


async def guess(c: Caller, step: Step) -> Any:
    return await c.store.append(step.session, [note(step)], expected_seq=step.number % 9)


async def lease_append(c: Caller, step: Step) -> Any:
    return await c.store.append(step.session, [note(step)], lease=c.leases.get(step.session))


async def patch(c: Caller, step: Step) -> Any:
    version = step.number % 7 if step.number % 5 == 0 else None
    changes = {f"member{step.number % 9}": step.mark, f"member{step.number % 4}": None, "last": {"m": step.mark}}
    return await c.store.state.patch(step.session, changes, expected_version=version, idempotency_key=step.key)


async def metadata(c: Caller, step: Step) -> Any:
    return await c.store.sessions.patch_metadata(step.session, {"m": step.mark}, idempotency_key=step.key)


async def tag(c: Caller, step: Step) -> Any:
    return await c.store.sessions.tag(step.session, add=[step.mark], idempotency_key=step.key)


async def finalize(c: Caller, step: Step) -> Any:
    return await c.store.sessions.finalize(step.session, "failed", outcome=step.mark, idempotency_key=step.key)


async def describe(c: Caller, step: Step) -> Any:
    return await c.store.sessions.create(step.session, metadata={"m": step.mark})


async def goal(c: Caller, step: Step) -> Any:
    name = step.mark if step.number % 2 else None
    return await c.store.goals.add(step.session, step.mark, goal_id=name, idempotency_key=step.key)


async def goal_change(c: Caller, step: Step) -> Any:
    changes = {"description": step.mark, "status": "in_progress"}
    return await c.store.goals.update(step.session, about(step), changes, idempotency_key=step.key)


async def agent(c: Caller, step: Step) -> Any:
    return await c.store.agents.spawn(step.session, "pilot", step.mark, agent_id=step.mark, idempotency_key=step.key)


async def agent_end(c: Caller, step: Step) -> Any:
    return await c.store.agents.complete(step.session, about(step), result=step.mark, idempotency_key=step.key)


async def checkpoint(c: Caller, step: Step) -> Any:
    return await c.store.checkpoints.create(step.session, step.mark, checkpoint_id=step.mark, idempotency_key=step.key)


async def snapshot(c: Caller, step: Step) -> Any:
    return await c.store.checkpoints.save_snapshot(step.session, {"m": step.mark}, idempotency_key=step.key)


async def compact(c: Caller, step: Step) -> Any:
    return await c.store.checkpoints.compact(step.session, step.mark, last_seq=2, idempotency_key=step.key)


async def effect(c: Caller, step: Step) -> Any:
    return await c.store.effects.start(step.session, step.mark, "tool", {"a": 1}, idempotency_key=step.key)


async def effect_end(c: Caller, step: Step) -> Any:
    return await c.store.effects.finish(step.session, about(step), result=step.mark)


async def usage(c: Caller, step: Step) -> Any:
    return await c.store.usage.record(
        step.session, step.mark, input_tokens=step.number, output_tokens=1, idempotency_key=step.key
    )


async def attach(c: Caller, step: Step) -> Any:
    kept = await c.store.attachments.put(f"bytes {step.number % 50}".encode())
    return await c.store.attachments.attach(
        step.session, kept.digest, name=step.mark, media_type="text/plain", idempotency_key=step.key
    )


async def acquire(c: Caller, step: Step) -> Any:
    holder = f"holder{step.number % 2}"
    lease = await c.store.leases.acquire(step.session, holder, LEASE_MS, take_over=step.number % 3 == 0)
    c.leases[step.session] = lease
    return lease.fence


def _held(c: Caller, step: Step) -> Lease:
    if step.session not in c.leases:
        raise NotFound("there is no lease")
    return c.leases[step.session]


async def renew(c: Caller, step: Step) -> Any:
    return (await c.store.leases.renew(_held(c, step), LEASE_MS)).fence


async def release(c: Caller, step: Step) -> Any:
    await c.store.leases.release(_held(c, step))


def said(step: Step) -> NewEvent:
    task_id = step.mark if step.what == "turn" else about(step)
    body = {"role": "user", "taskId": task_id, "parts": [{"text": f"say {step.mark}"}]}
    return NewEvent("message", body, idempotency_key=step.key)


async def turn(c: Caller, step: Step) -> Any:
    return await c.store.tasks.begin(step.session, step.mark, "context", said(step), owner="me")


async def turn_change(c: Caller, step: Step) -> Any:
    states = (TaskState.WORKING, TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.COMPLETED)
    task = await c.store.tasks.get(about(step))
    return await c.store.tasks.update(
        task, states[step.number % 4], {"m": step.mark}, session_status="failed", idempotency_key=step.key
    )


async def answer(c: Caller, step: Step) -> Any:
    task = await c.store.tasks.get(about(step))
    return await c.store.tasks.go_on(task, said(step), owner="me", idempotency_key=f"call {step.mark}")


def memory_name(step: Step) -> tuple[str, str]:
    return "notes", f"k{step.number % 3}"


async def remember(c: Caller, step: Step) -> Any:
    return await c.store.memories.put(*memory_name(step), {"m": step.mark}, idempotency_key=step.key)


async def forget(c: Caller, step: Step) -> Any:
    return await c.store.memories.forget(*memory_name(step))


async def erase_memory(c: Caller, step: Step) -> Any:
    return await c.store.memories.erase(*memory_name(step))


def key_name(step: Step) -> str:
    return f"key{step.number % 2}"


async def open_key(c: Caller, step: Step) -> Any:
    return await c.store.keys.open(key_name(step))


async def reset(c: Caller, step: Step) -> Any:
    return await c.store.keys.reset(key_name(step), new_session_id=step.mark)


async def fork(c: Caller, step: Step) -> Any:
    return await c.store.forks.fork(step.session, new_session_id=step.mark)


async def restore(c: Caller, step: Step) -> Any:
    return await c.store.forks.restore(step.session, about(step), new_session_id=step.mark)


async def erase(c: Caller, step: Step) -> Any:
    log = await c.store.read(step.session)
    found = [event.seq for event in log if step.of is not None and is_of(step.of, event)]
    return await c.store.erasure.erase(step.session, found[:1], reason=step.mark)


async def delete(c: Caller, step: Step) -> Any:
    archived = await c.store.deletion.delete(step.session, reason=step.mark)
    return replace(archived, session_no=0)  # PostgreSQL leaves out numbers of transactions that were taken back


Call = Callable[[Caller, Step], Awaitable[Any]]
CALLS: dict[str, Call] = {
    "append": append,
    "batch": batch,
    "child": child,
    "expect": expect,
    "guess": guess,
    "lease append": lease_append,
    "patch": patch,
    "metadata": metadata,
    "tag": tag,
    "finalize": finalize,
    "describe": describe,
    "goal": goal,
    "goal change": goal_change,
    "agent": agent,
    "agent end": agent_end,
    "checkpoint": checkpoint,
    "snapshot": snapshot,
    "compact": compact,
    "effect": effect,
    "effect end": effect_end,
    "usage": usage,
    "attach": attach,
    "acquire": acquire,
    "renew": renew,
    "release": release,
    "turn": turn,
    "turn change": turn_change,
    "answer": answer,
    "remember": remember,
    "forget": forget,
    "erase memory": erase_memory,
    "open key": open_key,
    "reset": reset,
    "fork": fork,
    "restore": restore,
    "erase": erase,
    "delete": delete,
}
EVENTS: dict[str, tuple[str, int]] = {
    "append": ("note", 1),
    "batch": ("note", 3),
    "child": ("note", 1),
    "expect": ("note", 1),
    "guess": ("note", 1),
    "lease append": ("note", 1),
    "patch": (types.STATE_UPDATED, 1),
    "metadata": (types.METADATA_UPDATED, 1),
    "tag": (types.TAGS_UPDATED, 1),
    "finalize": (types.SESSION_FINALIZED, 1),
    "describe": (types.SESSION_CREATED, 1),
    "goal": (types.GOAL_ADDED, 1),
    "goal change": (types.GOAL_UPDATED, 1),
    "agent": (types.AGENT_SPAWNED, 1),
    "agent end": (types.AGENT_COMPLETED, 1),
    "checkpoint": (types.CHECKPOINT_CREATED, 1),
    "snapshot": (types.SNAPSHOT_SAVED, 1),
    "compact": (types.COMPACTED, 1),
    "effect": (types.TOOL_STARTED, 1),
    "effect end": (types.TOOL_FINISHED, 1),
    "usage": (types.USAGE_RECORDED, 1),
    "attach": (types.ATTACHMENT_ADDED, 1),
    "turn": ("message", 1),
    "turn change": (types.TASK_UPDATED, 1),
    "answer": ("message", 1),
    "erase": (types.EVENTS_ERASED, 1),
}
"""The events, and how many, that have a step's mark in its session's log; what is not here leaves none there."""
NEW_SESSIONS = ("reset", "fork", "restore")
"""Steps that make a session with their mark for a name."""


def is_of(step: Step, event: Event) -> bool:
    """Whether this event is one that the step wrote, and says so still."""
    kind, _ = EVENTS[step.what]
    mark = f"say {step.mark}" if kind == "message" else step.mark
    return event.type == kind and event.erased is None and f'{mark}"'.encode() in event.payload
