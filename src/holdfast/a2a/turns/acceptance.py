"""How a message becomes a task: it is placed in its conversation, looked up, taken in and recorded, once.

Nothing is recorded of a message that is refused. One that was here before, by its context, id and body, or by the key
that its sender gave it, has its task already; unless that task was interrupted: then it runs again, as another. One
that names a task is that task's, or is refused. One that names no context gets the same context if it comes again soon.
"""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from holdfast.a2a.files.files import Files
from holdfast.a2a.protocol import rpc
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import AnswerTerms, Message
from holdfast.a2a.turns import records
from holdfast.a2a.turns.keys import delivery_key, first_message_digest, key_after, session_key, task_prefix
from holdfast.core import IdSource, NewEvent, Task, types
from holdfast.core.errors import IdempotencyConflict, NotFound, OutcomeUnknown, SessionGone, TaskEnded, TaskNotWaiting
from holdfast.core.retry import until_written
from holdfast.store import Store
from holdfast.store.tasks import TaskStart

FIRST_MESSAGE_MS = 60_000
"""For how long a message without a context is known again."""


@dataclass(frozen=True, slots=True)
class PlacedMessage:
    """A message that may be recorded: in which session, if there is one yet, on which session key, under which key of
    its own, and the task that it follows, if any."""

    session_id: str | None
    session_key: str
    message: Message
    context_id: str
    key: str
    prefix: str
    followed: Task | None
    answers: AnswerTerms | None = None


@dataclass(frozen=True, slots=True)
class AcceptedMessage:
    """A message and its task; whether it is here for the first time, and whether a turn is for this caller to run."""

    task: Task
    message: Message
    fresh: bool
    run: bool


class Acceptance:
    """Takes messages in for one agent."""

    def __init__(self, store: Store, files: Files, *, agent: str, owner: str, ids: IdSource) -> None:
        self._store = store
        self._files = files
        self._agent = agent
        self._owner = owner
        self._ids = ids

    async def look(
        self,
        message: Message,
        followed: Task | None,
        own_key: str | None,
        caller: str | None,
        on_key: str | None = None,
        answers: AnswerTerms | None = None,
    ) -> Task | PlacedMessage:
        """The task of a message that was here before, or the message as it can be recorded; RpcError if it cannot."""
        if answers is not None:
            assert followed is not None and own_key is not None
            return await self._answer(message, followed, own_key, answers)
        placed = self._placed(message, followed)
        context_id = placed.context_id or await self._new_context(placed, caller)
        placed = replace(placed, context_id=context_id)
        conversation = on_key or session_key(self._agent, context_id)
        session_id = followed.session_id if followed else await self._routed(conversation)
        key = own_key or delivery_key(placed)
        prefix = task_prefix(placed) if own_key else ""
        # Looked up first: it may be here again after its task has ended, or its file has gone.
        while (known := None if session_id is None else await self._store.tasks.begun_by(session_id, key)) is not None:
            if followed is not None or not records.interrupted(known):
                return _same(known, prefix, key)
            key = key_after(key, _same(known, prefix, key).task_id)
        if followed is not None and followed.state.terminal:
            raise _ended(followed)
        if followed is not None and await self._was_left(followed):
            said = "Unsupported operation: the task's conversation was reset; its context is open for a new one"
            raise RpcError(rpc.UNSUPPORTED_OPERATION, said, taskId=followed.task_id, contextId=followed.context_id)
        taken = replace(placed, parts=await self._files.take(placed.parts))
        return PlacedMessage(session_id, conversation, taken, context_id, key, prefix, followed)

    async def _answer(self, message: Message, followed: Task, own_key: str, answers: AnswerTerms) -> PlacedMessage:
        """The answer as it can be recorded; whether its task takes it, or has it already, is decided by that write."""
        placed = self._placed(message, followed)
        known = await self._store.tasks.begun_by(followed.session_id, own_key)
        if known is None and await self._was_left(followed):
            raise TaskNotWaiting(
                f"the conversation of task {followed.task_id} was reset",
                hint=f"it stays {followed.state.value}: its context is open for a new message",
                state=followed.state.value,
            )
        conversation = session_key(self._agent, followed.context_id)
        return PlacedMessage(
            followed.session_id, conversation, placed, followed.context_id, own_key, "", followed, answers
        )

    async def accept(self, offer: PlacedMessage) -> AcceptedMessage:
        """Record the message with its task; the first task if it has come before after all.

        If its session is deleted meanwhile, a conversation goes on in a new one; a task is gone with its session.
        """
        followed = offer.followed
        try:
            session_id = offer.session_id or await self._session(offer.session_key)
            await self._files.attach(session_id, offer.message.parts, offer.key)
            return await self._begin(session_id, offer) if followed is None else await self._go_on(followed, offer)
        except SessionGone:
            if followed is not None:
                raise rpc.task_not_found(followed.task_id) from None
            return await self.accept(replace(offer, session_id=None))

    def _placed(self, message: Message, followed: Task | None) -> Message:
        """The message with the context of the task that it follows."""
        if followed is None:
            return message
        if message.context_id not in (None, followed.context_id):
            raise rpc.invalid_params("the task belongs to another context")
        return replace(message, context_id=followed.context_id)

    async def _routed(self, key: str) -> str | None:
        """The session of a conversation, if it has one."""
        try:
            return (await self._store.keys.get(key)).session_id
        except NotFound:
            return None

    async def _new_context(self, message: Message, caller: str | None) -> str:
        """A context for a message that names none: the one that it was given, if it was here a moment ago.

        It is known again by its sender, or, where senders are not known apart, if its id can be nobody else's.
        """
        fresh = self._ids()
        if caller is None and not _is_uuid(message.message_id):
            return fresh
        digest = first_message_digest(self._agent, caller, message)
        return await self._store.first_messages.context_of(digest, fresh, FIRST_MESSAGE_MS)

    async def _session(self, key: str) -> str:
        return (await self._store.keys.open(key, agent=self._agent)).session_id

    async def _was_left(self, task: Task) -> bool:
        """Whether the conversation of a task has gone on elsewhere: no key routes to its session any more."""
        try:
            routes = await self._store.keys.of_session(task.session_id)
        except SessionGone:
            raise rpc.task_not_found(task.task_id) from None
        return all(route.ended_at is not None for route in routes)

    async def _go_on(self, followed: Task, offer: PlacedMessage) -> AcceptedMessage:
        """A task that asked back goes on with its answer; one that runs takes the message when it comes to it."""
        event = NewEvent(types.MESSAGE, records.message_record(offer.message), idempotency_key=offer.key)
        attempt = self._ids()
        try:
            begun = await _surely(
                lambda: self._store.tasks.go_on(
                    followed,
                    event,
                    records.NO_STATUS,
                    owner=self._owner,
                    idempotency_key=attempt,
                    answers=offer.answers is not None,
                    version=None if offer.answers is None else offer.answers.version,
                )
            )
        except TaskEnded:
            raise _ended(await self._store.tasks.get(followed.task_id)) from None
        return AcceptedMessage(begun.task, offer.message, not begun.replayed, not (begun.replayed or begun.waits))

    async def _begin(self, session_id: str, offer: PlacedMessage) -> AcceptedMessage:
        """A message that names no task has one of its own."""
        task_id = offer.prefix + self._ids()
        own = replace(offer.message, task_id=task_id)
        event = NewEvent(types.MESSAGE, records.message_record(own), idempotency_key=offer.key)
        begun = await _surely(
            lambda: self._store.tasks.begin(session_id, task_id, offer.context_id, event, owner=self._owner)
        )
        return AcceptedMessage(_same(begun.task, offer.prefix, offer.key), own, not begun.replayed, not begun.replayed)


async def _surely(write: Callable[[], Awaitable[TaskStart]]) -> TaskStart:
    """What a write gives that may safely be tried again; a refusal is a refusal, an unknown outcome is made known."""
    try:
        return await write()
    except OutcomeUnknown:
        return await until_written(write)


def _same(task: Task, prefix: str, key: str) -> Task:
    """The task, if it is this message's."""
    if not task.task_id.startswith(prefix):
        raise IdempotencyConflict(f"{key!r} was used before, for another message", task_id=task.task_id)
    return task


def _ended(task: Task) -> RpcError:
    said = f"Unsupported operation: the task has ended ({task.state}); its context is open for a new one"
    return RpcError(rpc.UNSUPPORTED_OPERATION, said, taskId=task.task_id, contextId=task.context_id)


def _is_uuid(name: str) -> bool:
    try:
        uuid.UUID(name)
    except ValueError:
        return False
    return True
