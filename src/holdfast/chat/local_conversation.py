"""A conversation in a project's folder or in a store, whose turns run in this process."""

import asyncio
from contextlib import suppress
from typing import Any

from holdfast.chat.conversation import (
    COMPLETED,
    FAILED,
    ConversationEntry,
    Hear,
    ToolBegin,
    ToolEnd,
    ToolEntry,
    TranscriptEntry,
    TurnAnswer,
    Words,
)
from holdfast.chat.tool_words import in_short
from holdfast.chat.user_files import mode_file
from holdfast.core.errors import Conflict, HoldfastError, InvalidInput, NotFound
from holdfast.core.nearest import did_you_mean
from holdfast.core.redact import redact
from holdfast.models.messages import PromptMessage, PromptRole, is_by_runtime
from holdfast.runtime import ConversationSession, RuntimeHandle
from holdfast.runtime.permissions import ModeTrust
from holdfast.runtime.permissions.modes import MODES, grant
from holdfast.runtime.project.agent import TOOLS
from holdfast.runtime.turn.loop import ITERATION_LIMIT, UNREADABLE, ToolBegun, ToolEnded, TurnEnded, TurnEvent
from holdfast.runtime.workflow.router import MODES as WORKFLOW_MODES

LAST = "last"
MOST_LISTED = 20
TAKEN_BACK = "taken back"
UNRESOLVED = "it was begun before the process ended, and may have run; /settle says what became of it"
NOT_CHOSEN = (
    "the conversation was left in mode {mode}, which does not count: nobody at this computer has chosen it for this "
    "conversation in this folder; /mode {mode} does, or --mode {mode}"
)
SPEAKERS = {PromptRole.USER: "user", PromptRole.ASSISTANT: "agent", PromptRole.TOOL: "tool"}


class LocalConversation:
    """The conversation of an agent that this process owns."""

    def __init__(self, agent: RuntimeHandle) -> None:
        self._agent = agent
        self._trust = ModeTrust(mode_file(), agent.project_root)
        self._narrowed: str | None = None
        self._choose_mode()

    @property
    def name(self) -> str:
        """The id of the session."""
        return self._agent.session.session_id

    @property
    def kept_when_stopped(self) -> str:
        """All that was shown."""
        return "what you see is kept, marked as interrupted"

    async def about(self) -> list[tuple[str, str]]:
        """Where the conversation is kept, which modes hold, and what a dead process left unresolved."""
        session = self._agent.session
        place = str(self._agent.project_root) if session.store_url is None else redact(session.store_url)
        return [
            ("conversation", f"{self.name} in {place}"),
            *self.modes(),
            *([("note", self._narrowed)] if self._narrowed else []),
            *(("unresolved", f"{each}: {UNRESOLVED}") for each in await self.unresolved()),
        ]

    async def say(self, text: str, hear: Hear) -> TurnAnswer:
        """Take a turn."""
        words = ""

        def tell(event: TurnEvent) -> None:
            nonlocal words
            if isinstance(event, TurnEnded):
                words = event.content
            else:
                _tell(event, hear)

        await self._agent.run(text, tell=tell)
        summary = self._agent.last_turn_summary
        assert summary is not None
        done = summary.definition_of_done
        fails = done.status == "failed" or summary.decision_code in {ITERATION_LIMIT, UNREADABLE}
        return TurnAnswer(
            words,
            FAILED if fails else COMPLETED,
            summary.decision_summary if fails else None,
            tuple((str(each["command"]), bool(each["passed"])) for each in done.evidence),
            dict(summary.usage),
        )

    async def entries(self) -> list[ConversationEntry]:
        """The newest conversations of the project."""
        ids = await asyncio.to_thread(lambda: ConversationSession.ids(**self._place()))
        found = [await asyncio.to_thread(self._entry, each) for each in ids[:MOST_LISTED]]
        return [each for each in found if each is not None]

    async def resume(self, name: str) -> str | None:
        """Go on with the conversation of this id, or with the last one."""

        def go_on() -> str | None:
            session_id = self._found(name).session_id
            if not self._agent.resume_session(session_id):
                raise _no_conversation(name)
            return self._narrow(session_id)

        return await asyncio.to_thread(go_on)

    async def renew(self) -> None:
        """Begin a new conversation, in the same mode."""

        def begin() -> None:
            self._agent.clear_history()
            self._choose_mode()

        await asyncio.to_thread(begin)

    async def fork(self, name: str | None) -> str | None:
        """Go on with a copy of a conversation, which another process may be writing."""

        def copy() -> str | None:
            source = self._agent.session if name is None else self._found(name)
            forked = source.fork()
            forked.release()
            self._agent.resume_session(forked.session_id)
            return self._narrow(source.session_id)

        return await asyncio.to_thread(copy)

    async def compact(self) -> str | None:
        """Sum up the older messages now."""
        done = await asyncio.to_thread(lambda: self._agent.session.maybe_compact(now=True))
        if done is None:
            return None
        sizes = f"about {done.tokens_before:,} tokens before and {done.tokens_after:,} after"
        return f"{done.removed_message_count} messages are summed up; {sizes}. The originals stay readable."

    async def undo(self) -> str | None:
        """Take the last turn out of the conversation, with all that the runtime asked the model in between."""
        session = self._agent.session
        messages = session.messages
        questions = [number for number in range(len(messages)) if self._speaker(messages[number]) == "user"]
        first = questions[-1] if questions else None
        if first is None:
            if any(each.role == PromptRole.ASSISTANT for each in messages):
                raise Conflict("the last question is summed up already", hint="/fork keeps this, /new begins anew")
            return None
        text = messages[first].text
        before = messages[questions[-2]].text if len(questions) > 1 else None

        def take_back() -> None:
            session.take_back(len(messages) - first)
            self._agent.current_task = before

        await asyncio.to_thread(take_back)
        return text

    async def usage(self) -> list[tuple[str, str]]:
        """The totals of the session."""
        totals = self._agent.session.usage_totals
        return [(name.replace("_", " "), f"{value:,}") for name, value in totals.items()]

    async def sayings(self) -> list[TranscriptEntry]:
        """What was said, with what compactions have removed; at the end, what was taken back."""
        session = self._agent.session
        removed = await asyncio.to_thread(lambda: session.history(taken_back=False))
        gone = await asyncio.to_thread(lambda: session.history(taken_back=True))
        return [
            *(_saying(each, self._speaker(each)) for each in (*removed, *session.messages)),
            *(_saying(each, f"{self._speaker(each)}, {TAKEN_BACK}") for each in gone),
        ]

    async def unresolved(self) -> list[str]:
        """The tools that a dead process has begun, with what they were asked."""
        effects = await asyncio.to_thread(lambda: self._agent.unresolved_effects)
        return [f"{each.tool} {each.shown}".rstrip() for each in effects]

    async def settle(self, number: int, *, ran: bool) -> str:
        """Say what became of one of them; the model is told."""
        effects = await asyncio.to_thread(lambda: self._agent.unresolved_effects)
        if not 1 <= number <= len(effects):
            raise NotFound(f"there is no unresolved tool {number}", hint="/settle lists them")
        effect = effects[number - 1]
        await asyncio.to_thread(lambda: self._agent.settle_effect(effect.call_id, ran=ran))
        return f"{effect.tool} {effect.shown}".rstrip()

    def tools(self) -> list[ToolEntry]:
        """The tools, and what the permission mode says of each."""
        mode = self._agent.active_permission_mode
        return [
            ToolEntry(tool.declaration.name, tool.need, grant(mode, tool.need), tool.declaration.description)
            for tool in TOOLS
        ]

    def modes(self) -> list[tuple[str, str]]:
        """The permission mode, and the workflow's."""
        return [("permission mode", self._agent.active_permission_mode), ("workflow mode", self._agent.workflow_mode)]

    def set_mode(self, mode: str) -> None:
        """Set the one of the two that has this mode."""
        if mode in WORKFLOW_MODES:
            self._agent.set_workflow_mode(mode)
        elif mode in MODES:
            self._agent.set_permission_mode(mode)
            self._choose_mode()
        else:
            raise InvalidInput(f"there is no mode {mode!r:.80}", hint=did_you_mean(mode, (*MODES, *WORKFLOW_MODES)))

    def _narrow(self, known_as: str) -> str | None:
        """Take back a wide mode that this user has not chosen for the conversation; what was done, in words."""
        mode = self._agent.active_permission_mode
        counts = self._trust.counts(known_as, mode)
        if not counts:
            self._agent.set_permission_mode(self._agent.config.permission_mode)
        self._choose_mode()
        self._narrowed = None if counts else NOT_CHOSEN.format(mode=mode)
        return self._narrowed

    def _choose_mode(self) -> None:
        """Keep that the user has chosen the mode for this conversation; if that fails, it is narrowed when resumed."""
        self._narrowed = None
        with suppress(HoldfastError):
            self._trust.choose(self.name, self._agent.active_permission_mode)

    def _place(self) -> dict[str, Any]:
        config = self._agent.config
        return {"project_root": self._agent.project_root, "storage": config.storage, "store_url": config.store_url}

    def _entry(self, session_id: str) -> ConversationEntry | None:
        """A conversation in the list; one that is damaged says so, and keeps nobody from the others."""
        try:
            session = self._load(session_id)
        except HoldfastError as error:
            return ConversationEntry(session_id, "", f"cannot be read: {error.message}")
        if session is None:
            return None
        return ConversationEntry(session_id, session.updated_at, session.current_task or "")

    def _load(self, session_id: str | None) -> ConversationSession | None:
        return ConversationSession.load(
            system_message_factory=lambda: PromptMessage(PromptRole.SYSTEM, ""),
            few_shot_factory=list,
            session_id=session_id,
            **self._place(),
        )

    def _speaker(self, message: PromptMessage) -> str:
        """Who has said a message; the words alone do not tell, because a user may write anything."""
        compaction = self._agent.session.compaction
        if compaction is not None and message.text == compaction.summary:
            return "summary"
        return "runtime" if is_by_runtime(message) else SPEAKERS[message.role]

    def _found(self, name: str) -> ConversationSession:
        session = self._load(None if name == LAST else name)
        if session is None:
            raise _no_conversation(name)
        return session


def _no_conversation(name: str) -> NotFound:
    what = "no conversation yet" if name == LAST else f"no conversation {name!r:.80}"
    return NotFound(f"there is {what} here", hint="/sessions, or `holdfast chat` in another folder")


def _tell(event: TurnEvent, hear: Hear) -> None:
    if isinstance(event, str):
        hear(Words(event))
    elif isinstance(event, ToolBegun):
        hear(ToolBegin(event.call.name, in_short(event.call.arguments)))
    elif isinstance(event, ToolEnded):
        hear(ToolEnd(event.call.name, in_short(event.call.arguments), event.result.status, event.result.text))


def _saying(message: PromptMessage, speaker: str) -> TranscriptEntry:
    calls = [f"[{call.name} {in_short(call.arguments)}]" for call in message.tool_calls]
    return TranscriptEntry(speaker, "\n".join(filter(None, [message.text, *calls])))
