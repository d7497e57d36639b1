"""The simulator's answer: a pure function from a prompt and the tools offered to words or tool calls.

Every answer says which rule gave it and, where it tells a fact, which message that fact is from. The delay is
data: whoever serves the answer waits.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

from holdfast.core import strict_json
from holdfast.models.messages import CompletionResponse, PromptMessage, PromptRole, Tool, ToolCall
from holdfast.models.simulator import attachments, file_questions, given_texts, language, measures, toolbox
from holdfast.models.simulator.language import AskAgent, AskUser, ReadWish, RecallWish, UseSkill
from holdfast.models.simulator.plan import PromptTurn, TurnPlan, plan, turn_of
from holdfast.models.simulator.prompt import listen
from holdfast.models.simulator.recollection import Source, from_conversation, from_memory

MODEL = "sim-1"

HOW_MANY = re.compile(r"\bhow many messages have I sent\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Why an answer is what it is: the rule, and the messages that supplied its facts."""

    rule: str
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class SimulatorAnswer:
    """A response, where it came from, how many seconds to wait before it is given, and between its pieces."""

    response: CompletionResponse
    provenance: Provenance
    delay: float = 0.0
    pace: float = 0.0


@dataclass(frozen=True, slots=True)
class _Reply:
    rule: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    sources: tuple[Source, ...] = ()


def answer(messages: Sequence[PromptMessage], tools: Sequence[Tool] = ()) -> SimulatorAnswer:
    """The answer to a prompt, always the same for the same messages and tools."""
    turn = turn_of(listen(messages))
    planned = plan(turn, tools)
    reply = _action(planned, messages) or _last_word(_report(turn, planned) or _words(turn, planned), messages, tools)
    response = CompletionResponse(
        reply.content, list(reply.calls), measures.count_tokens(messages, reply.content, reply.calls)
    )
    words = turn.request.words
    return SimulatorAnswer(
        response,
        Provenance(reply.rule, reply.sources),
        measures.seconds_to_think(words),
        measures.seconds_per_piece(words),
    )


def _action(planned: TurnPlan, messages: Sequence[PromptMessage]) -> _Reply | None:
    """Tool calls for what is to be done, if anything is."""
    if planned.stuck or not planned.calls:
        return None
    calls = [
        ToolCall(_call_id(messages, number), call.name, call.arguments) for number, call in enumerate(planned.calls)
    ]
    return _Reply("tool_call", "", tuple(calls))


def _last_word(reply: _Reply, messages: Sequence[PromptMessage], tools: Sequence[Tool]) -> _Reply:
    """A reply in the form that the framework wants the last word of a turn in."""
    content, call = toolbox.last_word(reply.content, tools, messages)
    calls = (ToolCall(_call_id(messages, 0), call.name, call.arguments),) if call else ()
    return replace(reply, content=content, calls=calls)


def _call_id(messages: Sequence[PromptMessage], number: int) -> str:
    # From the whole prompt: a later turn that asks for the same is a new call, a retry of this turn is not. The ids of
    # one answer sort in the order of its calls: some runtimes give back in that order what came of them.
    prompt = [[message.role, message.text] for message in messages]
    return f"call_{hashlib.sha256(strict_json.dump(prompt)).hexdigest()[:22]}{number:02x}"


def _report(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    """The end of a turn whose tools have run or are missing, unless a question is open: they may have answered it."""
    words = turn.request.words
    if planned.stuck:
        return _Reply("no_tool", "I have no tool that can do that.")
    if not turn.results or (not planned.wishes and language.questions(words)) or file_questions.file_question(words):
        return None
    recalled = _recollection(turn, planned)
    done, told = [], []
    for number, result in enumerate(turn.results):
        wish = planned.wishes[number] if number < len(planned.wishes) else None
        match wish:
            case RecallWish() | AskUser():
                continue
            case AskAgent():
                told.append(f"The agent at {wish.url} answered: {result.words}")
            case ReadWish():
                told.append(f"{wish.path} says: {result.words}")
            case UseSkill() if len(turn.results) > number + 1:
                told.append(f"I used the skill {wish.name}.")
            case _:
                done.append(result.words)
    sentences = [*(["Done: " + "\n".join(done)] if done else []), *told, *([recalled.content] if recalled else [])]
    return _Reply(
        recalled.rule if recalled else "tool_result", "\n".join(sentences), (), recalled.sources if recalled else ()
    )


def _words(turn: PromptTurn, planned: TurnPlan) -> _Reply:
    """An answer in words, which begins with what was attached."""
    reply = _text(turn, planned)
    attached = turn.request.attachments
    if not attached:
        return reply
    seen = f"I received {_counted(len(attached), 'attachment')}: {attachments.names(attached)}."
    return replace(reply, content=f"{seen} {reply.content}".rstrip())


def _text(turn: PromptTurn, planned: TurnPlan) -> _Reply:
    """What the first rule says that has something to say."""
    for rule in _RULES:
        reply = rule(turn, planned)
        if reply is not None:
            return reply
    return _Reply("empty", "I received an empty prompt.")


def _recollection(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    """What memory has of the things that it was asked for, if it was."""
    asked_a_tool = any(isinstance(wish, RecallWish) for wish in planned.wishes)
    found = [
        (thing, from_memory(thing, turn.heard, turn.results, asked_a_tool=asked_a_tool)) for thing in planned.things
    ]
    return _recall(found) if found else None


def _given_text(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    request = given_texts.request_in(turn.request.words)
    return _Reply("given_text", given_texts.answer(request)) if request else None


def _conversation(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    things = language.questions(turn.request.words)
    return _recall([(thing, from_conversation(thing, turn.heard)) for thing in things]) if things else None


def _file_content(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    question = file_questions.file_question(turn.request.words)
    if question is None:
        return None
    where = question.name or "the file"
    source = file_questions.find(question, turn.heard)
    if source:
        return _Reply("file", f"The {question.thing} in {where} is {source.value}.", sources=(source,))
    return _Reply("file", f"I do not know the {question.thing} in {where}.")


def _message_count(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    if not HOW_MANY.search(language.without_commands(turn.request.words)):
        return None
    sent = sum(said.role == PromptRole.USER and not said.summary for said in turn.heard)
    return _Reply("count", f"You have sent {_counted(sent, 'message')}.")


def _long_answer(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    words = measures.long_answer(language.without_commands(turn.request.words))
    return _Reply("long", words) if words else None


def _summary(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    attached = turn.request.attachments
    if attached and file_questions.SUMMARIZE.search(language.without_commands(turn.request.words)):
        return _Reply("summary", file_questions.summary(attached))
    return None


def _file_description(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    described = file_questions.about(turn.request, turn.heard)
    return _Reply("attachments", "" if turn.request.attachments else described) if described else None


def _acknowledgement(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    facts = language.statements(turn.request.words)
    return _Reply("statement", " ".join(_note(fact) for fact in facts)) if facts else None


def _echo(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    words = turn.request.words
    return _Reply("echo", f"You said: {language.to_say(words)}") if words else None


def _receipt(turn: PromptTurn, planned: TurnPlan) -> _Reply | None:
    return _Reply("attachments", "") if turn.request.attachments else None


_RULES: tuple[Callable[[PromptTurn, TurnPlan], _Reply | None], ...] = (
    _given_text,  # "Choose one: …", with a text between marks
    _recollection,  # memory is to be asked: what it has
    _conversation,  # "what is my name?": what the conversation has
    _file_content,  # "what is the code word in notes.txt?": what the file has
    _message_count,  # "how many messages have I sent?"
    _long_answer,  # "count to 500", "a story of 200 words"
    _summary,  # "summarize", with a file
    _file_description,  # "which files did I send?"
    _acknowledgement,  # "my name is Ada"
    _echo,  # any other words
    _receipt,  # files without words
)
"""How a turn is answered in words: the first of these that applies."""


def _recall(found: Sequence[tuple[str, Source | None]]) -> _Reply:
    sentences = [
        f"Your {thing} is {source.value}." if source else f"I do not know your {thing}." for thing, source in found
    ]
    return _Reply("recall", " ".join(sentences), sources=tuple(source for _, source in found if source))


def _note(fact: language.Fact) -> str:
    if fact.thing.casefold() == "name":
        return f"Nice to meet you, {fact.value}."
    return f"Noted: your {fact.thing} is {fact.value}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class SimulatorBackend:
    """A model whose answers follow from the prompt alone; it keeps nothing between calls."""

    model = MODEL
    supports_native_tools = True

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> CompletionResponse:
        """The simulator's answer, after the time that the user asked it to think for; nothing else changes it."""
        given = answer(messages, tools)
        await asyncio.sleep(given.delay)
        return given.response

    async def stream(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[str | CompletionResponse]:
        """The words of the answer, piece by piece at the pace that the user asked for, and then the whole answer."""
        given = answer(messages, tools)
        await asyncio.sleep(given.delay)
        for piece in measures.pieces(given.response.content):
            yield piece
            await asyncio.sleep(given.pace)
        yield given.response
