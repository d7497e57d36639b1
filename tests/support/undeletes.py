"""A session as all can see it, to compare before its deletion and after its undelete; and undeletes in company."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.steps import Meanwhile, number_of, where

from holdfast.core.errors import SessionGone
from holdfast.store import NewEvent, Store
from holdfast.store.lifecycle.undeletion import Undeletion

KEYED = NewEvent("keyed", {"n": 1}, idempotency_key="k1")
"""What `make_rich` has written with a key."""


async def seen(store: Store, session_id: str) -> dict[str, Any]:
    """All that can be seen of a session but its log, its head and when it changed."""
    resumed = await store.resume(session_id, limit=1)
    tasks = [event.value()["taskId"] for event in await store.read(session_id, types=["holdfast.task_updated"])]
    return {
        "session": replace(resumed.session, updated_at=0, head_seq=0, head_hash=b"", size_bytes=0),
        "snapshot": resumed.snapshot,
        "state": await store.state.get(session_id),
        "goals": await store.goals.list(session_id),
        "agents": await store.agents.list(session_id),
        "checkpoints": await store.checkpoints.list(session_id),
        "unresolved": await store.effects.unresolved(session_id),
        "usage": await store.usage.session(session_id),
        "days": await store.usage.by_day(),
        "attachments": await store.attachments.of_session(session_id),
        "tasks": [await store.tasks.get(task_id) for task_id in tasks],
        "found": [hit.seq for hit in (await store.search.find("hi", session_id=session_id)).hits],
        "tagged": [hit.session_id for hit in (await store.sessions.list()).sessions],
        "routes": await store.keys.of_session(session_id),
        "keys": [await store.keys.get(route.key) for route in await store.keys.of_session(session_id)],
    }


def in_company(store: Store, happens: Callable[[], Awaitable[Any]], at: int | None = None) -> Undeletion:
    """Something happens before every write of an undelete, or before one of them."""
    return replace(store.undeletion, workers=Meanwhile(store.undeletion.workers, happens, at))


class Dead(Exception):
    """Instead of the end of a process."""


async def die() -> None:
    raise Dead


async def check_gone(store: Store, session_id: str, events: int) -> None:
    """Assert that a session is deleted for everybody, and each of its events is in exactly one place."""
    with pytest.raises(SessionGone):
        await store.append(session_id, [NewEvent("late", {})])
    assert session_id not in [each.session_id for each in (await store.sessions.list()).sessions]
    number = await number_of(store, session_id)
    assert number is not None
    log, archive = await where(store, number)
    assert sorted(log + archive) == list(range(1, events + 2)), "not exactly one of each"
    assert [event.seq async for event in store.archives.events(session_id)] == list(range(1, events + 1))
