"""A store that has something of everything, and what it says of it: for stores that older versions wrote."""

from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from holdfast.core import TaskState
from holdfast.store import NewEvent, Store

FOLDER = Path(__file__).parents[1] / "contract" / "kept_stores"
"""One folder for each version that wrote a store."""
TENANTS = ("default", "other")


def said(text: str, **more: Any) -> NewEvent:
    """An action with words in it."""
    return NewEvent("action", {"text": text}, **more)


async def fill(store: Store) -> None:
    """Write something of everything."""
    await store.sessions.create("trip", user_id="ada", tags=["demo"], metadata={"channel": "mail"})
    await store.append(
        "trip", [said("a table for two", idempotency_key="k1"), said("ΔΦ 日本 \u0000 end", event_id="e2")]
    )
    await store.state.patch("trip", {"phase": "plan", "workspace": {"cwd": "/app"}}, idempotency_key="s1")
    await store.state.patch("trip", {"phase": "execute", "workspace": {"cwd": None}})
    goal = await store.goals.add("trip", "find a flight", priority="high")
    await store.goals.update("trip", goal.goal_id, {"status": "completed"})
    await store.goals.add("trip", "book it")
    agent = await store.agents.spawn("trip", "booker", {"ask": "tandem"})
    await store.agents.complete("trip", agent.agent_id, result={"booked": True})
    await store.effects.start("trip", "call-1", "write", {"path": "a.txt"})
    await store.effects.finish("trip", "call-1", result={"bytes": 4})
    await store.effects.start("trip", "call-2", "send", {"to": "ada"})
    await store.checkpoints.create("trip", "before the bill")
    await store.checkpoints.compact("trip", {"text": "a trip is planned"}, last_seq=2)
    kept = await store.attachments.put(b"a note of forty bytes, or a little less")
    await store.attachments.attach("trip", kept.digest, name="note.txt", media_type="text/plain")
    await store.usage.record("trip", "sim-1", input_tokens=12, output_tokens=5)
    await store.forks.fork("trip", new_session_id="trip-fork", at=2)
    await store.sessions.finalize("trip-fork", "completed", outcome="a fork", response={"text": "done"})

    await store.keys.resolve("agent:main:a2a:c1", session_id="talk-1")
    await store.append("talk-1", [said("my name is Ada")])
    await store.keys.reset("agent:main:a2a:c1", new_session_id="talk-2")
    begun = await store.tasks.begin("talk-2", "task-1", "c1", said("hello", idempotency_key="m1"), owner="me")
    await store.tasks.update(begun.task, TaskState.COMPLETED, {"artifacts": []}, messages=[said("hello, Ada")])

    await store.append("secrets", [said("password is tomato"), said("nothing else")])
    await store.erasure.erase("secrets", [1], reason="asked for")
    await store.sessions.hold("secrets", True, reason="a case")
    await store.append("gone", [said("this was deleted")])
    await store.deletion.delete("gone")

    await store.memories.put("user:ada", "colour", "green")
    await store.memories.put("user:ada", "colour", "blue")
    await store.memories.put("user:ada", "zone", {"name": "Europe/London"})
    await store.memories.forget("user:ada", "zone")

    await store.for_tenant("other").append("trip", [said("the same id, another tenant")])


async def portrait(store: Store) -> dict[str, Any]:
    """What the store says of everything in it, as plain JSON."""
    return {tenant: await _tenant(store.for_tenant(tenant)) for tenant in TENANTS}


async def _tenant(store: Store) -> dict[str, Any]:
    return {
        "sessions": {name: await _session(store, name) for name in await _names(store)},
        "routes": [plain(route) for name in await _names(store) for route in await store.keys.of_session(name)],
        "tasks": [plain(task) for task in (await store.tasks.find("main")).tasks],
        "deleted": [plain(each) for each in await store.archives.list()],
        "memories": [
            plain(each)
            for name in await store.memories.namespaces()
            for key in ("colour", "zone")
            for each in await store.memories.history(name, key)
        ],
        "found": sorted(hit.session_id for hit in (await store.search.find("table")).hits),
    }


async def _names(store: Store) -> list[str]:
    return sorted(each.session_id for each in (await store.sessions.list()).sessions)


async def _session(store: Store, session_id: str) -> dict[str, Any]:
    return {
        "session": plain(await store.sessions.get(session_id)),
        "events": [plain(event) for event in await store.read(session_id)],
        "state": plain(await store.state.get(session_id)),
        "goals": [plain(each) for each in await store.goals.list(session_id)],
        "agents": [plain(each) for each in await store.agents.list(session_id)],
        "checkpoints": [plain(each) for each in await store.checkpoints.list(session_id)],
        "unresolved": [plain(each) for each in await store.effects.unresolved(session_id)],
        "usage": plain(await store.usage.session(session_id)),
        "attachments": [
            [plain(each), b"".join([piece async for piece in store.attachments.read(each.digest)]).decode()]
            for each in await store.attachments.of_session(session_id)
        ],
        "problem": (await store.verification.session(session_id)).problem,
    }


def plain(value: Any) -> Any:
    """A value as JSON says it."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
