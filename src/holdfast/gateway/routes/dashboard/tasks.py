"""Tasks that wait for a person: find them, read what they ask, and answer.

An answer goes the way of every message to the gateway's agent. It is recorded with its task in one write, and taken
only while the task waits: of two answers one is taken, on whichever gateway, and under one key it is taken once. What
is recorded is worked on, here or wherever the turn is taken up after a death of this gateway.
"""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.a2a.protocol import rpc
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import AnswerTerms, Message, Role, SendRequest, TextPart, text_of
from holdfast.a2a.turns import records
from holdfast.a2a.turns.turns import Turns
from holdfast.core import TaskState, TimeOrderedIds
from holdfast.core.clock import to_iso
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import check_name, check_session_id
from holdfast.core.statuses import one_of
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import parse_into
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import (
    DEFAULT_PAGE,
    PageCursor,
    PageLimit,
    TenantStore,
    TenantWrite,
    check_callers_key,
    key_of,
)
from holdfast.gateway.wire.tasks import AnsweredTask, TaskAnswer, TaskInfo, TaskInfoList
from holdfast.store import ReadLength, StoreSnapshot
from holdfast.store.tasks import KeyedTask

STATES = tuple(state.value for state in TaskState)

_answer = parse_into(TaskAnswer)
_ids = TimeOrderedIds()


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/tasks` to those who read."""

    @routes.get("/api/tasks", summary="List tasks, the last changed first", **described({200: TaskInfoList}))
    async def get_tasks(
        store: TenantStore,
        state: Annotated[str | None, Query(description="only those in this state")] = None,
        session: Annotated[str | None, Query(description="only those of this session")] = None,
        cursor: PageCursor = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> Response:
        session_id = check_session_id(session) if session else None
        chosen = TaskState(one_of(STATES, state, f"{state!r:.80} is not a task's state")) if state else None

        def look(snapshot: StoreSnapshot) -> TaskInfoList:
            found = snapshot.tasks(state=chosen, session_id=session_id, cursor=cursor or None, limit=limit)
            return TaskInfoList([task_info(each) for each in found.tasks], found.cursor)

        return json_answer(await store.snapshot(look))

    @routes.get("/api/tasks/{task_id}", summary="One task, and what it asks", **described({200: TaskInfo}))
    async def get_task(store: TenantStore, task_id: str) -> Response:
        check_name(task_id, "a task id")
        return json_answer(await store.snapshot(lambda seen: task_info(seen.task(task_id)), ReadLength.PAGE))


def add_answer_route(routes: APIRouter, turns_of: Callable[[Request], Turns]) -> None:
    """Serve answers to the tasks of the gateway's agent."""

    @routes.post(
        "/api/tasks/{task_id}/answer",
        summary="Answer a task that waits for it; its turn goes on",
        **described({202: AnsweredTask}, body=TaskAnswer),
    )
    async def answer_task(write: TenantWrite, task_id: str) -> Response:
        body = await write.read(_answer)
        own_key = key_of(body.idempotency_key, write.key)
        name = check_callers_key(own_key) if own_key else _ids()
        message = Message(Role.USER, name, (TextPart(body.text),), task_id=check_name(task_id, "a task id"))
        terms = AnswerTerms(body.expected_version)
        asked = SendRequest(message, wait=False, idempotency_key=f"answer:{name}", answers=terms)
        try:
            task = await turns_of(write.request).answer(asked)
        except RpcError as error:
            raise _refusal(error, task_id) from None
        return json_answer(AnsweredTask(task.task_id, task.session_id, task.state.value, task.version), 202)


def task_info(found: KeyedTask) -> TaskInfo:
    """The task as clients see it."""
    task = found.task
    return TaskInfo(
        task.task_id,
        task.session_id,
        task.context_id,
        found.key,
        task.state.value,
        _question(found),
        to_iso(task.created_at),
        to_iso(task.updated_at),
        task.version,
    )


def _question(found: KeyedTask) -> str | None:
    """What a task asks, if it waits for an answer."""
    if found.task.state is not TaskState.INPUT_REQUIRED:
        return None
    asked = records.view(found.task).message
    return None if asked is None else text_of(asked.parts)


def _refusal(error: RpcError, task_id: str) -> NotFound | InvalidInput:
    if error.code == rpc.TASK_NOT_FOUND:
        return NotFound(f"the gateway's agent has no task {task_id!r}", task_id=task_id)
    return InvalidInput(error.message.removeprefix("Invalid params: "))
