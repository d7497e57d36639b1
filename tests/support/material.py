"""Events to append, and what was read of them."""

from typing import Any

from holdfast.store import NewEvent, Store


def numbered(*numbers: int) -> list[NewEvent]:
    return [NewEvent("number", {"n": n}) for n in numbers]


def said(text: str, task_id: str, key: str | None = None) -> NewEvent:
    return NewEvent("message", {"role": "user", "taskId": task_id, "parts": [{"text": text}]}, idempotency_key=key)


async def values(store: Store, session_id: str, **window: Any) -> list[Any]:
    return [event.value() for event in await store.read(session_id, **window)]
