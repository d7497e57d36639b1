"""Chat: one turn of the gateway's agent on a session key, and what was said on it.

The same turns as over A2A: recorded before they run, one at a time in a conversation, gone on with after a restart.
"""

from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import (
    ArtifactUpdate,
    FilePart,
    Message,
    News,
    Part,
    Role,
    SendRequest,
    StatusUpdate,
    TaskRequest,
    TaskView,
    TextPart,
    text_of,
)
from holdfast.a2a.turns import records
from holdfast.a2a.turns.keys import agent_prefix, context_of
from holdfast.a2a.turns.turns import Turns
from holdfast.core import HoldfastError, TimeOrderedIds, types
from holdfast.core.clock import to_iso
from holdfast.core.errors import Closing, InvalidInput
from holdfast.core.ids import MAX_NAME_LENGTH, check_name
from holdfast.core.problem import problem
from holdfast.gateway.agent import AGENT
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.operation import JSON, schema_of
from holdfast.gateway.api.parameters import IdempotencyKey, PageLimit, TenantStore, check_callers_key, key_of
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.routes.keys import current_session
from holdfast.gateway.wire.chat import (
    ChatAnswer,
    ChatAttachment,
    ChatEvent,
    ChatHistory,
    ChatMessage,
    NewAttachment,
    NewMessage,
    Speaker,
)
from holdfast.http.event_stream import AnswerStream
from holdfast.http.server_sent_events import EVENTS

PREFIX = agent_prefix(AGENT)
DEFAULT_MESSAGES = 50

ChatKey = Annotated[
    str,
    Path(
        description="a session key of the agent",
        json_schema_extra={"pattern": rf"^{PREFIX}[^\u0000]+$", "maxLength": MAX_NAME_LENGTH},
    ),
]

_new_message = parse_into(NewMessage)
_ids = TimeOrderedIds()


def add_routes(routes: APIRouter, gateway: Gateway, turns_of: Callable[[Request], Turns]) -> None:
    """Serve `/api/chat`; a key may have slashes in it."""

    @routes.get(
        "/api/chat/{key:path}/history",
        summary="What was said on a session key, the newest messages",
        **described({200: ChatHistory}),
    )
    async def get_chat_history(
        store: TenantStore,
        key: str,
        limit: PageLimit = DEFAULT_MESSAGES,
        before: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="only messages before this seq")] = None,
    ) -> Response:
        session_id = await current_session(store, key)
        if session_id is None:
            return json_answer(ChatHistory(key, None, [], None))
        events = await store.newest(session_id, before=before, limit=limit, types=(types.MESSAGE,))
        found = [(event, records.message_in(event)) for event in events]
        said = [_told(event.seq, event.created_at, message) for event, message in found if message is not None]
        cursor = events[0].seq if len(events) == limit and events[0].seq > 1 else None
        return json_answer(ChatHistory(key, session_id, said, cursor))

    @routes.post(
        "/api/chat/{key:path}",
        summary="Say something to the gateway's agent; its answer, or with `stream` server-sent events",
        **_streamed_too(described({200: ChatAnswer}, body=NewMessage)),
    )
    async def chat(request: Request, key: ChatKey, idempotency_key: IdempotencyKey = None) -> Response:
        body = await read_body(request, _new_message)
        asked = _request(checked_key(key), body, key_of(body.idempotency_key, idempotency_key))
        turns = turns_of(request)
        try:
            if not body.stream:
                return json_answer(await _answer(turns, key, asked))
            news = turns.stream(asked)
            first = await anext(news)
        except RpcError as error:
            raise _refusal(error) from None
        return AnswerStream(
            _told_as_it_comes(turns, key, first, news),
            stopping=gateway.stopping,
            cut_off={"type": "error", "problem": problem(Closing("the gateway is stopping"))},
            refused=partial(gateway.until_refused, request),
        )


def _streamed_too(described: dict[str, Any]) -> dict[str, Any]:
    """The description of a route whose answer may also come as events, each with one of ours as its data."""
    data = {"type": "string", "contentMediaType": JSON, "contentSchema": schema_of(ChatEvent)}
    event = {"type": "object", "required": ["data"], "properties": {"data": data}}
    described["responses"]["200"]["content"][EVENTS] = {"schema": event}
    return described


def checked_key(key: str) -> str:
    """A session key of the gateway's agent, or InvalidInput."""
    if not key.startswith(PREFIX) or key == PREFIX:
        raise InvalidInput(
            f"{key!r:.200} is not a key of the agent {AGENT!r}", hint=f"its keys begin with {PREFIX}, e.g. {PREFIX}me"
        )
    return check_name(key, "a session key")


def _request(key: str, body: NewMessage, own_key: str | None) -> SendRequest:
    parts: list[Part] = [TextPart(body.text)] if body.text else []
    parts += [_file(attachment) for attachment in body.attachments]
    if not parts:
        raise InvalidInput("a message has text, attachments or both")
    if own_key is not None:
        check_callers_key(own_key)
    message_id = _ids() if own_key is None else own_key
    message = Message(Role.USER, message_id, tuple(parts), context_of(AGENT, key))
    return SendRequest(message, idempotency_key=None if own_key is None else f"chat:{own_key}", session_key=key)


def _file(attachment: NewAttachment) -> FilePart:
    if (attachment.data is None) == (attachment.uri is None):
        raise InvalidInput("an attachment has either data or a uri")
    return FilePart(attachment.data, attachment.uri, attachment.name, attachment.media_type)


async def _answer(turns: Turns, key: str, asked: SendRequest) -> ChatAnswer:
    sent = await turns.send(asked)
    if isinstance(sent, Message):
        assert sent.task_id is not None
        sent = await turns.get(TaskRequest(sent.task_id))
    return await _answered(turns, key, sent)


async def _answered(turns: Turns, key: str, task: TaskView) -> ChatAnswer:
    stored = await turns.known(task.task_id)
    said = None if task.message is None else text_of(task.message.parts)
    words = "\n".join(filter(None, (text_of(artifact.parts) for artifact in task.artifacts)))
    if records.reply(stored) is not None:
        words, said = said or "", None
    return ChatAnswer(key, stored.session_id, task.task_id, task.state, words, said)


async def _told_as_it_comes(
    turns: Turns, key: str, first: News, rest: AsyncGenerator[News]
) -> AsyncGenerator[dict[str, Any]]:
    """Pieces of text and statuses as they come, and the whole answer as the last."""
    task_id = first.task_id
    assert isinstance(first, TaskView | Message) and task_id is not None
    try:
        yield {"type": "task", "taskId": task_id}
        async for item in rest:
            if isinstance(item, ArtifactUpdate):
                if words := text_of(item.artifact.parts):
                    yield {"type": "text", "text": words}
            elif isinstance(item, StatusUpdate) and item.message is not None and not item.final:
                yield {"type": "status", "text": text_of(item.message.parts)}
        task = await turns.get(TaskRequest(task_id, 0))
        yield {"type": "answer"} | msgspec.to_builtins(await _answered(turns, key, task))
    except HoldfastError as error:
        yield {"type": "error", "problem": problem(error)}


def _told(seq: int, at: int, message: Message) -> ChatMessage:
    files = [
        ChatAttachment(part.filename, part.media_type, part.size, part.digest, part.url)
        for part in message.parts
        if isinstance(part, FilePart)
    ]
    role: Speaker = "user" if message.role is Role.USER else "agent"
    return ChatMessage(seq, role, text_of(message.parts), to_iso(at), message.message_id, message.task_id, files)


def _refusal(error: RpcError) -> InvalidInput:
    return InvalidInput(error.message.removeprefix("Invalid params: "))
