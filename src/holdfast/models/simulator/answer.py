"""The simulator's answer: a pure function from a prompt and the tools offered to words or tool calls.

Every answer says which rule gave it and, where it tells a fact, which message that fact is from. The delay is
data: whoever serves the answer waits.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.core import strict_json
from holdfast.models.messages import CompletionResponse, Message, Role, Tool, ToolCall
from holdfast.models.simulator import attachments, commands, facts, files_asked, finishing, lengths, usage
from holdfast.models.simulator.commands import AskAgent, Read, Recall, UseSkill
from holdfast.models.simulator.delay import seconds_to_think
from holdfast.models.simulator.plan import Plan, Turn, plan, turn_of
from holdfast.models.simulator.prompt import listen
from holdfast.models.simulator.recollection import Source, from_conversation, from_memory

HOW_MANY = re.compile(r"\bhow many messages have I sent\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Why an answer is what it is: the rule, and the messages that supplied its facts."""

    rule: str
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
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


def answer(messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Answer:
    """The answer to a prompt, always the same for the same messages and tools."""
    turn = turn_of(listen(messages))
    planned = plan(turn, tools)
    reply = _action(planned, messages) or _last_word(_report(turn, planned) or _words(turn, planned), messages, tools)
    response = CompletionResponse(reply.content, list(reply.calls), usage.count(messages, reply.content, reply.calls))
    words = turn.request.words
    return Answer(
        response, Provenance(reply.rule, reply.sources), seconds_to_think(words), lengths.seconds_per_piece(words)
    )


def _action(planned: Plan, messages: Sequence[Message]) -> _Reply | None:
    """Tool calls for what is to be done, if anything is."""
    if planned.stuck or not planned.calls:
        return None
    calls = [
        ToolCall(_call_id(messages, number), call.name, call.arguments) for number, call in enumerate(planned.calls)
    ]
    return _Reply("tool_call", "", tuple(calls))


def _last_word(reply: _Reply, messages: Sequence[Message], tools: Sequence[Tool]) -> _Reply:
    """A reply in the form that the framework wants the last word of a turn in."""
    content, call = finishing.wrap(reply.content, tools, messages)
    calls = (ToolCall(_call_id(messages, 0), call.name, call.arguments),) if call else ()
    return replace(reply, content=content, calls=calls)


def _call_id(messages: Sequence[Message], number: int) -> str:
    # From the whole prompt: a later turn that asks for the same is a new call, a retry of this turn is not.
    prompt = [[message.role, message.text] for message in messages]
    return "call_" + hashlib.sha256(strict_json.dump([prompt, number])).hexdigest()[:24]


def _report(turn: Turn, planned: Plan) -> _Reply | None:
    """The end of a turn whose tools have run or are missing, unless a question is open: they may have answered it."""
    words = turn.request.words
    if planned.stuck:
        return _Reply("no_tool", "I have no tool that can do that.")
    if not turn.results or (not planned.wishes and facts.asked(words)) or files_asked.content_asked(words):
        return None
    recalled = _recollection(turn, planned)
    done, told = [], []
    for number, result in enumerate(turn.results):
        wish = planned.wishes[number] if number < len(planned.wishes) else None
        match wish:
            case Recall():
                continue
            case AskAgent():
                told.append(f"The agent at {wish.url} answered: {result.words}")
            case Read():
                told.append(f"{wish.path} says: {result.words}")
            case UseSkill() if len(turn.results) > number + 1:
                told.append(f"I used the skill {wish.name}.")
            case _:
                done.append(result.words)
    sentences = [*(["Done: " + "\n".join(done)] if done else []), *told, *([recalled.content] if recalled else [])]
    return _Reply(
        recalled.rule if recalled else "tool_result", "\n".join(sentences), (), recalled.sources if recalled else ()
    )


def _words(turn: Turn, planned: Plan) -> _Reply:
    """An answer in words, which begins with what was attached."""
    reply = _text(turn, planned)
    attached = turn.request.attachments
    if not attached:
        return reply
    seen = f"I received {_counted(len(attached), 'attachment')}: {attachments.names(attached)}."
    return replace(reply, content=f"{seen} {reply.content}".rstrip())


def _text(turn: Turn, planned: Plan) -> _Reply:
    request, heard = turn.request, turn.heard
    meant = commands.without_commands(request.words)
    if recalled := _recollection(turn, planned):
        return recalled
    if things := facts.asked(request.words):
        return _told([(thing, from_conversation(thing, heard)) for thing in things])
    if question := files_asked.content_asked(request.words):
        return _from_file(question, turn)
    if HOW_MANY.search(meant):
        sent = sum(said.role == Role.USER and not said.summary for said in heard)
        return _Reply("count", f"You have sent {_counted(sent, 'message')}.")
    if told := lengths.long_answer(meant):
        return _Reply("long", told)
    if request.attachments and files_asked.SUMMARIZE.search(meant):
        return _Reply("summary", files_asked.summary(request.attachments))
    if described := files_asked.about(request, heard):
        return _Reply("attachments", "" if request.attachments else described)
    if stated := facts.stated(request.words):
        return _Reply("statement", " ".join(_acknowledgement(fact) for fact in stated))
    if request.words:
        return _Reply("echo", f"You said: {commands.to_say(request.words)}")
    if request.attachments:
        return _Reply("attachments", "")
    return _Reply("empty", "I received an empty prompt.")


def _recollection(turn: Turn, planned: Plan) -> _Reply | None:
    """What memory has of the things that it was asked for, if it was."""
    asked_a_tool = any(isinstance(wish, Recall) for wish in planned.wishes)
    found = [
        (thing, from_memory(thing, turn.heard, turn.results, asked_a_tool=asked_a_tool)) for thing in planned.things
    ]
    return _told(found) if found else None


def _told(found: Sequence[tuple[str, Source | None]]) -> _Reply:
    sentences = [
        f"Your {thing} is {source.value}." if source else f"I do not know your {thing}." for thing, source in found
    ]
    return _Reply("recall", " ".join(sentences), sources=tuple(source for _, source in found if source))


def _from_file(question: files_asked.FileQuestion, turn: Turn) -> _Reply:
    where = question.name or "the file"
    source = files_asked.find(question, turn.heard)
    if source:
        return _Reply("file", f"The {question.thing} in {where} is {source.value}.", sources=(source,))
    return _Reply("file", f"I do not know the {question.thing} in {where}.")


def _acknowledgement(fact: facts.Fact) -> str:
    if fact.thing.casefold() == "name":
        return f"Nice to meet you, {fact.value}."
    return f"Noted: your {fact.thing} is {fact.value}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
