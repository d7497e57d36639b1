"""A conversation that survives its process: what was said, what it rests on, and where the work stands.

Every method that changes it stores all of it before it returns, or changes nothing. One object at a time writes a
conversation; another that does is refused. Nothing here needs an event loop, and all of it works inside one.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.core.ids import check_session_id
from holdfast.models.messages import PromptMessage as Message
from holdfast.runtime.conversation import runtime_state
from holdfast.runtime.conversation.compaction import Summariser, compacted
from holdfast.runtime.conversation.completion_trace import MAX_TRACE, projected_trace
from holdfast.runtime.conversation.fields import ConversationFields, new_session_id, now
from holdfast.runtime.conversation.records import (
    CompactionRecord,
    CompletionTraceEntry,
    EffectRun,
    PromptSnapshot,
    ToolEffect,
    WorkflowLedger,
    WorkflowTimelineEntry,
    detached,
    document_of,
)
from holdfast.runtime.conversation.storage import ConversationStorage, StoredConversation, check_message
from holdfast.runtime.conversation.storages import FILE, found_conversation, home_of
from holdfast.runtime.conversation.usage_totals import with_turn

if TYPE_CHECKING:
    from holdfast.runtime.tools import MemoryAccess

MAX_TIMELINE = 24
MAX_PROMPTS = 16
TOGETHER = (
    "_appended_trace",
    *(each.name for each in fields_of(ConversationFields) if each.name != "completion_trace"),
)
"""What changes that are stored together may change, beside the messages."""

SystemMessageFactory = Callable[[], Message]
FewShotFactory = Callable[[], list[Message]]


@dataclass(kw_only=True, eq=False)
class ConversationSession(ConversationFields):
    """One conversation, in a project's folder or in a store."""

    system_message_factory: SystemMessageFactory
    few_shot_factory: FewShotFactory
    project_root: Path
    messages: list[Message] = field(default_factory=list)
    storage: str = FILE
    """`file`, or `store` for the store at `store_url`."""
    store_url: str | None = None

    def __post_init__(self) -> None:
        self.project_root = Path(self.project_root)
        self.messages = list(self.messages)
        check_session_id(self.session_id)
        self._gathers = False
        self._lock = threading.RLock()
        self._home = home_of(self.storage, self.project_root, self.store_url)
        self._storage: ConversationStorage = self._home.storage(self.session_id)
        self._stored = False

    @classmethod
    def load(
        cls,
        *,
        project_root: Path,
        system_message_factory: SystemMessageFactory,
        few_shot_factory: FewShotFactory,
        session_id: str | None = None,
        storage: str = FILE,
        store_url: str | None = None,
    ) -> Self | None:
        """The conversation of this id, or None; without an id the current one, else the newest, else None.

        It claims nothing: the first write does.
        """
        found = found_conversation(home_of(storage, Path(project_root), store_url), session_id)
        if found is None:
            return None
        stored, where = found
        session = cls(
            system_message_factory=system_message_factory,
            few_shot_factory=few_shot_factory,
            project_root=project_root,
            messages=stored.messages,
            storage=storage,
            store_url=store_url,
            **_fields_from(stored),
        )
        session._storage, session._stored = where, True
        return session

    @staticmethod
    def ids(*, project_root: Path, storage: str = FILE, store_url: str | None = None) -> list[str]:
        """The conversations of a project, the one with the latest change first; those that cannot be read come last."""
        return home_of(storage, Path(project_root), store_url).ids()

    @property
    def storage_path(self) -> Path | None:
        """The file that holds the conversation; None if it is in a store."""
        return self._storage.path

    @property
    def memories(self) -> "MemoryAccess":
        """What the project's agents remember beyond this conversation, in the same storage."""
        return self._home.memories()

    @property  # type: ignore[misc]  # an attribute to callers, and never out of step with the timeline
    def completion_trace(self) -> list[CompletionTraceEntry]:
        """The decisions that led to the last one: as the timeline tells them, else as they were appended."""
        return projected_trace(self.workflow_timeline, self.last_completion_decision_code) or self._appended_trace

    @completion_trace.setter
    def completion_trace(self, entries: list[CompletionTraceEntry]) -> None:
        self._appended_trace = list(entries)[-MAX_TRACE:]

    def prompt(self) -> list[Message]:
        """What a model is asked: what it is told of itself, the examples, and what was said."""
        return [self.system_message_factory(), *self.few_shot_factory(), *self.messages]

    def append(self, message: Message) -> None:
        """Add a message."""
        self.extend([message])

    def extend(self, messages: Iterable[Message]) -> None:
        """Add some messages, all of them or none."""
        added = [check_message(message) for message in messages]
        with self._persisted("messages"):
            self.messages.extend(added)

    def clear(self) -> None:
        """Forget what was said; the history of earlier compactions stays readable."""
        with self._persisted("messages", "compaction"):
            self.messages.clear()
            self.compaction = None

    def take_back(self, count: int) -> list[Message]:
        """Take the last messages out of the conversation; they stay readable in its history."""
        with self._lock:
            gone = self.messages[len(self.messages) - count :]
            with self._persisted("messages", removed=gone, taken_back=True):
                del self.messages[len(self.messages) - count :]
            return gone

    def persist(self) -> None:
        """Store the conversation as it is, durably."""
        with self._persisted():
            pass

    def maybe_compact(
        self, summarise: Summariser | None = None, *, now: bool = False, tokens_to_come: int = 0
    ) -> CompactionRecord | None:
        """Replace the older messages by a summary if there are too many tokens, with those of messages that are about
        to follow, or at once; what that did, or None.

        `summarise` gets the messages that go and may give a summary of them, a model's for example; what the user
        stated is kept in any case.
        """
        with self._lock:
            result = compacted(
                self.messages,
                self.compaction,
                threshold=self.auto_compaction_input_tokens_threshold,
                keep=self.compaction_keep_last_messages,
                summarise=summarise,
                now=now,
                tokens_to_come=tokens_to_come,
            )
            if result is None:
                return None
            with self._persisted("messages", "compaction", removed=result.removed):
                self.messages[:] = [result.message, *result.kept]
                self.compaction = result.compaction
            return detached(result.compaction)

    def history(self, *, taken_back: bool | None = None) -> list[Message]:
        """The messages that compactions removed and those that were taken back, in the order in which they went; or
        only the one kind."""
        return self._storage.history(taken_back=taken_back)

    def update_runtime_state(self, **fields: Any) -> None:
        """Set some of the runtime's fields.

        For task, owner, modes, permissions and prompt fields None means to leave them; for the others it clears them.
        """
        changes = runtime_state.changes(fields)
        with self._persisted(*changes):
            for name, value in changes.items():
                setattr(self, name, value)

    def append_workflow_timeline_entry(self, entry: WorkflowTimelineEntry) -> None:
        """Add a step of the workflow; the newest are kept."""
        with self._persisted("workflow_timeline"):
            self.workflow_timeline = [*self.workflow_timeline, detached(entry)][-MAX_TIMELINE:]

    def append_completion_trace_entry(self, entry: CompletionTraceEntry) -> None:
        """Add a decision for conversations whose timeline has none; the newest are kept."""
        with self._persisted("_appended_trace"):
            self.completion_trace = [*self._appended_trace, detached(entry)]

    def append_prompt_snapshot(self, snapshot: PromptSnapshot) -> None:
        """Add what the model was told, unless it was told the same before; the newest are kept."""
        last = self.prompt_history[-1:]
        if last and document_of(last[0]) | {"timestamp": None} == document_of(snapshot) | {"timestamp": None}:
            return
        with self._persisted("prompt_history"):
            self.prompt_history = [*self.prompt_history, detached(snapshot)][-MAX_PROMPTS:]

    def update_workflow_ledger(self, ledger: WorkflowLedger) -> None:
        """Keep a copy of this ledger."""
        with self._persisted("workflow_ledger"):
            self.workflow_ledger = detached(ledger)

    def record_turn_usage(self, usage: dict[str, Any]) -> None:
        """Add what a turn has cost; `tool_calls` and `iterations` count too."""
        with self._persisted("usage_totals"):
            self.usage_totals = with_turn(self.usage_totals, usage)

    def start_effect(self, call_id: str, tool: str, arguments: Any, shown: str = "") -> EffectRun:
        """Record that a tool is about to change something outside; run it only if the answer says so.

        `shown` is what may be read of the arguments. One that ended before comes with its result, and is not to be run.
        EffectUnresolved if it was started before and nobody knows its end.
        """
        with self._lock:
            if not self._stored:
                self.persist()
            return self._storage.start_effect(call_id, tool, arguments, shown)

    def finish_effect(self, call_id: str, status: str, result: Any = None) -> ToolEffect:
        """Record what became of it, `finished` or `failed`; the same end again changes nothing."""
        with self._lock:
            return self._storage.finish_effect(call_id, status, result)

    def unresolved_effects(self) -> list[ToolEffect]:
        """The effects that were started and have not ended: after a crash, nobody knows whether they happened."""
        return self._storage.unresolved_effects()

    def fork(self) -> Self:
        """A new conversation that begins with all of this one that was not taken back, also with the effects whose end
        nobody knows; this one stays as it is."""
        with self._lock:
            fields = _fields_from(StoredConversation(self._document(), []))
            fields |= {"session_id": new_session_id(), "forked_from": self.session_id, "created_at": now()}
            forked = type(self)(
                system_message_factory=self.system_message_factory,
                few_shot_factory=self.few_shot_factory,
                project_root=self.project_root,
                messages=self.messages,
                storage=self.storage,
                store_url=self.store_url,
                **fields,
            )
            with forked._persisted(removed=self.history(taken_back=False)):
                pass
            for effect in self.unresolved_effects():
                forked.start_effect(effect.call_id, effect.tool, {"sha256": effect.digest}, effect.shown)
            return forked

    def release(self) -> None:
        """Let another process write the conversation; the next write here claims it again."""
        self._storage.release()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Store what several changes come to, once, at the end of the block; if that fails, none was made."""
        with self._persisted(*TOGETHER):
            before, self._gathers = self._gathers, True
            try:
                yield
            finally:
                self._gathers = before

    @contextmanager
    def _persisted(self, *names: str, removed: Iterable[Message] = (), taken_back: bool = False) -> Iterator[None]:
        """Store what the block changes; if that fails, the named attributes are as they were."""
        with self._lock:
            before = {name: getattr(self, name) for name in ("updated_at", *names)}
            messages = list(self.messages)
            try:
                yield
                gone = list(removed)
                if gone or not self._gathers:
                    self.updated_at = now()
                    self._storage.save(_readable(self._document()), self.messages, gone, taken_back=taken_back)
                    self._stored = True
            except BaseException:
                for name, value in before.items():
                    setattr(self, name, value)
                self.messages[:] = messages
                raise

    def _document(self) -> dict[str, Any]:
        """The stored fields as JSON values; a trace that the timeline tells is not stored."""
        document = {each.name: document_of(getattr(self, each.name)) for each in fields_of(ConversationFields)}
        if projected_trace(self.workflow_timeline, self.last_completion_decision_code):
            del document["completion_trace"]
        return document


def _readable(document: dict[str, Any]) -> dict[str, Any]:
    """The document itself; InvalidInput if it could not be read again."""
    try:
        msgspec.convert(document, ConversationFields)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the conversation cannot be stored: {error}") from error
    return document


def _fields_from(stored: StoredConversation) -> dict[str, Any]:
    try:
        known = msgspec.convert(stored.fields, ConversationFields)
    except msgspec.ValidationError as error:
        raise Corrupt(f"conversation {stored.fields.get('session_id')!r:.80} cannot be read: {error}") from error
    return {each.name: getattr(known, each.name) for each in fields_of(ConversationFields)}
