"""A turn over A2A whose conversation is in a file: every message of it is there before the next step is taken.

The file says at which turn it is. A turn that is begun again, because its process died in it, finds its message there
and takes back what came after it. What the session's log has and the file has not, because a turn was canceled or the
agent kept its conversations elsewhere for a while, is added before the turn begins. Effects, tasks and usage are the
store's. When the file is compacted, so is the log: no turn reads more of either than its prompt may hold.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from holdfast.a2a import PastMessage, Role, TextPart, Turn
from holdfast.core import HoldfastError
from holdfast.models.messages import CompletionResponse, PromptMessage, PromptRole
from holdfast.runtime import prompt_files
from holdfast.runtime.compaction import compact_log, summary_of_log, trim_results
from holdfast.runtime.conversation import CompactionRecord, ConversationSession, ServedTurn
from holdfast.runtime.prompt import past_messages, told
from holdfast.runtime.served.conversation_files import ConversationFiles
from holdfast.runtime.served.file_upkeep import remove_if_outdated
from holdfast.runtime.served.turn_log import A2ATurnLog
from holdfast.runtime.summary import Summary, tokens

ASKED = "The user was asked."


@asynccontextmanager
async def file_turn(
    turn: Turn, files: ConversationFiles, *, model: str, compact_over: int
) -> AsyncIterator["FileTurnLog"]:
    """A turn that has begun in its file; the file is free for others when it is over."""
    past = list(zip(turn.history, await past_messages(turn.history), strict=True))
    kept = await prompt_files.content(turn.parts, turn.attachments, prompt_files.for_past_messages())
    shown = await prompt_files.content(turn.parts, turn.attachments, prompt_files.for_this_message())
    summary = await summary_of_log(turn) if turn.history and turn.history[0].is_summary else None
    beginning = TurnBeginning(turn, past, summary, PromptMessage(PromptRole.USER, kept), compact_over)
    if files.on_tenant is not None:
        files.on_tenant(turn.store.tenant)
    session, is_compacted = await files.run(lambda: beginning.begin(files))
    try:
        first = (await compact_log(turn, compact_over) if is_compacted else None) or next(
            (said for said in turn.history[:1] if said.is_summary), None
        )
        yield FileTurnLog(
            turn,
            files,
            session,
            system=await told(turn),
            shown=PromptMessage(PromptRole.USER, shown),
            summary=await _summary_with_files(first, session),
            model=model,
            compact_over=compact_over,
        )
    finally:
        await files.run(session.release)
        with suppress(HoldfastError):  # a store that does not answer is asked again at the next start
            await remove_if_outdated(turn.store, files, turn.session_id, turn.message_seq)


@dataclass(frozen=True, slots=True)
class TurnBeginning:
    """What a turn finds in its session's log, as messages for a model, and its own message."""

    turn: Turn
    past: Sequence[tuple[PastMessage, PromptMessage]]
    summary: Summary | None
    message: PromptMessage
    compact_over: int

    def begin(self, files: ConversationFiles) -> tuple[ConversationSession, bool]:
        """The conversation with the turn's message as its last, on disk; whether it was compacted for it. Blocks."""
        tenant, session_id = self.turn.store.tenant, self.turn.session_id
        session = files.load(tenant, session_id)
        if session is not None and not self._fits(session):
            session.persist()  # claims it: nobody else writes what is removed now
            files.remove(tenant, session_id)
            session.release()
            session = None
        if session is None:
            session = self._with_summary(files.new(tenant, session_id))
            missing = [each for each in self.past if not each[0].is_summary]
        else:
            self._take_back_rest(session)
            if self._is_at(session.served_turn):
                return session, False
            missing = self._missing(session.served_turn)
        session.auto_compaction_input_tokens_threshold = self.compact_over
        added = [message for _, message in missing]
        compaction = session.maybe_compact(tokens_to_come=tokens([*added, self.message]))
        with session.together():
            session.extend([*added, self.message])
            session.served_turn = ServedTurn(
                session_id=session_id,
                task_id=self.turn.task_id,
                seq=self.turn.message_seq,
                position=len(session.messages) - 1,
                seqs=[*(said.seq for said, _ in self.past if not said.is_summary), self.turn.message_seq],
            )
        return session, compaction is not None

    def _with_summary(self, session: ConversationSession) -> ConversationSession:
        """A new conversation that begins with what stands for the older messages of the log, if anything does."""
        found = self.summary
        if found is not None:
            session.messages.append(PromptMessage(PromptRole.USER, found.text))
            size = tokens(session.messages)
            session.compaction = CompactionRecord(
                1, 0, found.text, size, size, found.facts, found.topics, found.messages, found.others
            )
        return session

    def _fits(self, session: ConversationSession) -> bool:
        """Whether all that the file has of the log is still there, and the log tells all that the file has not."""
        served = session.served_turn
        if served is None or not served.position < len(session.messages):
            return False
        summed_up = max((said.seq for said, _ in self.past if said.is_summary), default=0)
        there = {said.seq for said, _ in self.past} | {self.turn.message_seq}
        return summed_up <= max(served.seqs) and all(seq in there for seq in served.seqs if seq > summed_up)

    def _is_at(self, served: ServedTurn | None) -> bool:
        return served is not None and (served.task_id, served.seq) == (self.turn.task_id, self.turn.message_seq)

    def _take_back_rest(self, session: ConversationSession) -> None:
        """Take back what a turn that was cut off said after its message, and one that is begun again."""
        served = session.served_turn
        assert served is not None
        if served.ended and not self._is_at(served):
            return
        session.served_turn = replace(served, ended=False)
        after = len(session.messages) - 1 - served.position
        if after:
            session.take_back(after)

    def _missing(self, served: ServedTurn | None) -> list[tuple[PastMessage, PromptMessage]]:
        """What the log has and the file has not; the answer of the turn before is there, in the model's own words."""
        assert served is not None
        known = set(served.seqs)

        def is_answer(said: PastMessage) -> bool:
            return served.ended and said.task_id == served.task_id and said.role is Role.AGENT and said.seq > served.seq

        return [
            (said, message)
            for said, message in self.past
            if not said.is_summary and said.seq not in known and not is_answer(said)
        ]


class FileTurnLog(A2ATurnLog):
    """A turn that runs: its messages go to the file."""

    def __init__(
        self,
        turn: Turn,
        files: ConversationFiles,
        session: ConversationSession,
        *,
        system: PromptMessage,
        shown: PromptMessage,
        summary: PromptMessage | None,
        model: str,
        compact_over: int,
    ) -> None:
        super().__init__(turn, [], model=model, compact_over=compact_over)
        self._files = files
        self._session = session
        self._system = system
        self._shown = shown
        self._summary = summary
        self._used: dict[str, int] = {}

    async def prompt(self) -> list[PromptMessage]:
        """All that the model is asked next: its own message, and the files of a summary, are shown in full."""
        session = self._session
        assert session.served_turn is not None
        messages = list(session.messages)
        messages[session.served_turn.position] = self._shown
        if self._summary is not None:
            messages[0] = self._summary
        return trim_results([self._system, *messages], self._compact_over)

    async def add(self, message: PromptMessage) -> None:
        """Keep a message in the file."""
        await self._files.run(lambda: self._session.append(message))

    async def count(self, answer: CompletionResponse) -> None:
        """Record what an answer cost in the store, and at the end of the turn in the file."""
        await super().count(answer)
        for name, count in answer.usage.items():
            if isinstance(count, int):
                self._used[name] = self._used.get(name, 0) + count

    async def end(self, question: str | None = None) -> None:
        """Keep that the turn is over, with the question that it rests with."""
        await self._files.run(lambda: self._end(question))

    def _end(self, question: str | None) -> None:
        session = self._session
        assert session.served_turn is not None
        with session.together():
            if question is not None:
                session.extend([*_results(session.messages), PromptMessage(PromptRole.ASSISTANT, question)])
            session.record_turn_usage(self._used)
            session.served_turn = replace(session.served_turn, ended=True)


def _results(messages: Sequence[PromptMessage]) -> list[PromptMessage]:
    """A result for each of the last calls that has none: a question ends the turn before it has one."""
    answered: set[str | None] = set()
    for message in reversed(messages):
        if message.role != PromptRole.TOOL:
            calls = [call.id for call in message.tool_calls if call.id not in answered]
            return [PromptMessage(PromptRole.TOOL, ASKED, tool_call_id=call_id) for call_id in calls]
        answered.add(message.tool_call_id)
    return []


async def _summary_with_files(said: PastMessage | None, session: ConversationSession) -> PromptMessage | None:
    """The summary that the conversation begins with, with the files that the log's names; None if it names none."""
    compaction = session.compaction
    if said is None or not said.attachments or compaction is None or session.messages[0].text != compaction.summary:
        return None
    files = [part for part in said.parts if not isinstance(part, TextPart)]
    parts = (TextPart(compaction.summary), *files)
    words = await prompt_files.content(parts, said.attachments, prompt_files.for_past_messages())
    return PromptMessage(PromptRole.USER, words)
