"""A conversation in a store: its messages and saves are events of a session, its writer holds the session's lease.

What a save appends, it appends at once. The store's own effects are the conversation's.
"""

import asyncio
import hashlib
import uuid
import weakref
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.core import Effect, types
from holdfast.core.errors import LeaseLost, NotFound, OutcomeUnknown, SessionGone
from holdfast.core.event_bodies import ToolStarted
from holdfast.core.event_bodies import read as read_body
from holdfast.core.retry import until_written
from holdfast.models.messages import PromptMessage as Message
from holdfast.runtime.conversation.claims import CLAIMS, ConversationWriter, superseded, unseen
from holdfast.runtime.conversation.records import EffectRun, ToolEffect
from holdfast.runtime.conversation.storage import StoredConversation
from holdfast.runtime.conversation.store_claim import StoreHold
from holdfast.runtime.conversation.store_log import (
    MESSAGE,
    SAVED,
    WHOLE_EVERY,
    LogState,
    NumberedMessage,
    Saved,
    fields_after,
    message_event,
    next_save,
    read_messages,
    read_saved,
    saved_event,
    spans_of,
    without,
)
from holdfast.runtime.conversation.store_thread import STORES, StoreThread

if TYPE_CHECKING:
    from holdfast.runtime.tools import MemoryAccess
    from holdfast.store import Store

PATIENCE = 30.0
"""Seconds for which a write is tried that the store refuses for the moment."""
BATCH = 1_000
TAG = "conversation"
CURRENT = "conversations"
"""The namespace of the memory that names the current conversation of each project."""

Result = TypeVar("Result")


class ConversationStore:
    """The conversations of one project in a store."""

    def __init__(self, url: str, project_root: Path) -> None:
        self.thread: StoreThread = STORES.open(url)
        self.url = url
        self.project = hashlib.sha256(str(project_root.resolve()).encode(errors="surrogateescape")).hexdigest()[:32]
        self.tags = (TAG, f"project:{self.project}")

    def storage(self, session_id: str) -> "StoreStorage":
        """The place of a conversation."""
        return StoreStorage(self, session_id)

    def memories(self) -> "MemoryAccess":
        """What the project's agents remember beyond their conversations."""
        from holdfast.runtime.memory.store_memories import StoreMemories

        return StoreMemories(self.thread)

    def current(self) -> str | None:
        """The conversation that was written last, if that is known."""

        return self.thread.run(self.pointer())

    async def pointer(self) -> str | None:
        """The same, on the store's thread."""
        try:
            found = (await self.thread.store.memories.get(CURRENT, self.project)).value()
        except NotFound:
            return None
        return found if isinstance(found, str) else None

    def ids(self) -> list[str]:
        """The conversations that were saved, the one with the latest change first."""
        from holdfast.store import Filter

        async def look(store: "Store") -> list[str]:
            found: list[tuple[int, bool, str]] = []
            current = await self.pointer()  # which of two came last in the same millisecond
            cursor: str | None = None
            while True:
                page = await store.sessions.list(Filter(tag=self.tags[1]), cursor=cursor)
                found += [
                    (session.updated_at, session.session_id == current, session.session_id)
                    for session in page.sessions
                    if await store.newest(session.session_id, types=[SAVED], limit=1)
                ]
                cursor = page.cursor
                if cursor is None:
                    return [session_id for _, _, session_id in sorted(found, reverse=True)]

        return self.thread.run(look(self.thread.store))


class StoreStorage:
    """One object's conversation in a store."""

    path: Path | None = None

    def __init__(self, home: ConversationStore, session_id: str) -> None:
        self._home = home
        self._session_id = session_id
        self._name = f"{home.url} {session_id}"
        self._writer = ConversationWriter(session_id)
        self._turn = asyncio.Lock()
        self._state = LogState()
        self._unsure = False
        """The last save may be in the log, or not."""
        weakref.finalize(self, CLAIMS.abandon, self._name, self._writer)

    def read(self) -> StoredConversation | None:
        """The conversation as it is; None if there is none, Corrupt if it cannot be read."""
        state = self._home.thread.run(_read(self._home.thread.store, self._session_id))
        if state is None:
            return None
        self._state = state
        return StoredConversation(dict(state.fields), [numbered.message for numbered in state.live])

    def save(
        self,
        fields: dict[str, Any],
        messages: Sequence[Message],
        removed: Sequence[Message],
        *,
        taken_back: bool = False,
    ) -> None:
        """Store all of it, durably and at once; the removed messages stay readable in its history."""
        with self._writing() as hold:
            self._home.thread.run(self._save_next(hold, fields, messages, removed, taken_back))

    def history(self, *, taken_back: bool | None) -> list[Message]:
        """The messages that went, oldest first: those that were taken back, the others, or all."""
        saved = self._state.saved
        spans = saved.taken_back if taken_back else saved.removed
        if taken_back is False:
            spans = without(spans, saved.taken_back)
        if not spans:
            return []

        async def look(store: "Store") -> list[Message]:
            events = await store.read(self._session_id, types=[MESSAGE])
            return [numbered.message for numbered in read_messages(events, spans)]

        return self._home.thread.run(look(self._home.thread.store))

    def start_effect(self, call_id: str, tool: str, arguments: Any, shown: str) -> EffectRun:
        """Record that a tool is about to run; run it only if the answer says so."""
        key = uuid.uuid4().hex
        with self._writing() as hold:
            start = self._home.thread.run(
                _written(
                    lambda: hold.store.effects.start(
                        self._session_id, call_id, tool, arguments, shown=shown, idempotency_key=key
                    )
                )
            )
        return EffectRun(_tool_effect(start.effect, shown), start.run)

    def finish_effect(self, call_id: str, status: str, result: Any) -> ToolEffect:
        """Record what became of it; the same end again changes nothing, another one is a Conflict."""
        # Not fenced: what has happened outside is so, whoever writes the conversation by now.
        store = self._home.thread.store
        ended = self._home.thread.run(_written(lambda: store.effects.finish(self._session_id, call_id, status, result)))
        return _tool_effect(ended)

    def unresolved_effects(self) -> list[ToolEffect]:
        """The effects that were started and have not ended."""

        async def look(store: "Store") -> list[ToolEffect]:
            try:
                effects = await store.effects.unresolved(self._session_id)
            except NotFound:
                return []
            starts = await store.read(self._session_id, types=[types.TOOL_STARTED]) if effects else []
            shown = {body.call_id: body.shown for body in (read_body(event, ToolStarted) for event in starts)}
            return [_tool_effect(effect, str(shown.get(effect.call_id) or "")) for effect in effects]

        return self._home.thread.run(look(self._home.thread.store))

    def release(self) -> None:
        """Give the claim up, so that another process can go on."""
        CLAIMS.release(self._name, self._writer)

    @contextmanager
    def _writing(self) -> Iterator[StoreHold]:
        """Write as the one object that may; the first time, the conversation is claimed."""
        with CLAIMS.writing(self._name, self._writer, take=self._claim, check=self._check_newest) as hold:
            assert isinstance(hold, StoreHold)
            try:
                yield hold
            except LeaseLost as error:
                raise superseded(self._session_id) from error

    def _claim(self) -> StoreHold:
        return StoreHold.take(self._home.thread, self._session_id)

    def _check_newest(self) -> None:
        """StaleWriter if another has written since this object read it."""
        newest = self._home.thread.run(_newest_saves(self._home.thread.store, self._session_id, 1))
        if newest and newest[-1].revision != self._state.saved.revision:
            raise unseen(self._session_id)

    async def _save_next(
        self,
        hold: StoreHold,
        fields: dict[str, Any],
        messages: Sequence[Message],
        removed: Sequence[Message],
        taken_back: bool,
    ) -> None:
        """Save after the one before, which may go on here although its caller was interrupted."""
        async with self._turn:
            await self._save(hold, fields, messages, removed, taken_back)

    async def _save(
        self,
        hold: StoreHold,
        fields: dict[str, Any],
        messages: Sequence[Message],
        removed: Sequence[Message],
        taken_back: bool,
    ) -> None:
        known = {id(numbered.message): numbered for numbered in self._state.live}
        last = self._state.saved.last
        fresh: list[tuple[int, Message]] = []

        def numbered(message: Message) -> int:
            nonlocal last
            found = known.pop(id(message), None)
            if found is not None:
                return found.number
            last += 1
            fresh.append((last, message))
            return last

        gone = spans_of([numbered(message) for message in removed])
        live = [numbered(message) for message in messages]
        saved = next_save(self._state, fields, spans_of(live), gone, last, whole=self._unsure or bool(removed))
        saved.taken_back = [*self._state.saved.taken_back, *(gone if taken_back else [])]
        places = {each.number: each.seq for each in self._state.live}
        events = [message_event(number, message) for number, message in fresh]
        self._unsure = True
        if not self._state.saved.revision:
            await _written(lambda: hold.store.sessions.create(self._session_id, tags=self._home.tags))
        while len(events) > BATCH:
            places |= await self._append(hold, fresh, events[:BATCH])
            fresh, events = fresh[BATCH:], events[BATCH:]
        # New messages come after all there is by now; where exactly is known when they are there.
        old = [places[number] - 1 for number in live if number in places]
        saved.after = min(old, default=self._state.saved.after)
        places |= await self._append(hold, fresh, [*events, saved_event(saved)])
        numbers = zip(live, messages, strict=True)
        self._state = LogState(saved, fields, [NumberedMessage(n, places[n], message) for n, message in numbers])
        self._unsure = False
        if await self._home.pointer() != self._session_id:
            memories = self._home.thread.store.memories
            await _written(lambda: memories.put(CURRENT, self._home.project, self._session_id))

    async def _append(self, hold: StoreHold, fresh: list[tuple[int, Message]], events: list[Any]) -> dict[int, int]:
        """Append events, of which the first are those of the fresh messages; where the messages are."""
        key = uuid.uuid4().hex
        appended = await _written(lambda: hold.store.append(self._session_id, events, batch_key=key))
        return {number: seq for (number, _), seq in zip(fresh, appended.seqs, strict=False)}


async def _read(store: "Store", session_id: str) -> LogState | None:
    saves = await _newest_saves(store, session_id, WHOLE_EVERY + 1)
    if not saves:
        return None
    events = await store.read(session_id, after=saves[-1].after, types=[MESSAGE])
    return LogState(saves[-1], fields_after(saves), read_messages(events, saves[-1].live))


async def _newest_saves(store: "Store", session_id: str, count: int) -> list[Saved]:
    """The newest saves, oldest first, from the last one on that has all fields; none if there is no conversation."""
    try:
        events = await store.newest(session_id, types=[SAVED], limit=count)
    except (NotFound, SessionGone):
        return []
    saves = [read_saved(event) for event in events]
    first = max((n for n, saved in enumerate(saves) if saved.whole), default=0)
    return saves[first:]


async def _written(write: Callable[[], Awaitable[Result]]) -> Result:
    """The result of a write that may safely be tried more than once; OutcomeUnknown if the store stays away."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await until_written(write)
    except TimeoutError:
        raise OutcomeUnknown(f"the store has not taken the write for {PATIENCE:g} s") from None


def _tool_effect(effect: Effect, shown: str = "") -> ToolEffect:
    return ToolEffect(
        effect.call_id,
        effect.tool,
        effect.digest,
        effect.status,
        effect.started_at,
        effect.finished_at,
        effect.result,
        shown,
    )
