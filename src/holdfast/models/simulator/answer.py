"""The simulator's answer: a pure function from a prompt and the tools offered to words or tool calls.

Every answer says which rule gave it and, where it tells a fact, which message that fact is from. The delay is
data: whoever serves the answer waits.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from holdfast.core import strict_json
from holdfast.models.messages import CompletionResponse, Message, Role, Tool, ToolCall
from holdfast.models.simulator import commands, facts, usage
from holdfast.models.simulator.delay import seconds_to_think
from holdfast.models.simulator.facts import Source
from holdfast.models.simulator.prompt import Heard, listen

HOW_MANY = re.compile(r"\bhow many messages have I sent\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Why an answer is what it is: the rule, and the messages that supplied its facts."""

    rule: str
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, where it came from, and how many seconds to wait before it is given."""

    response: CompletionResponse
    provenance: Provenance
    delay: float


@dataclass(frozen=True, slots=True)
class _Reply:
    rule: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    sources: tuple[Source, ...] = ()


def answer(messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Answer:
    """The answer to a prompt, always the same for the same messages and tools."""
    heard = listen(messages)
    request = next((said for said in reversed(heard) if said.role == Role.USER), Heard(0, Role.USER, ""))
    results = [said.words for said in heard if said.index > request.index]
    reply = _after(results, request) or _effect(request, messages, tools) or _words(request, heard)
    response = CompletionResponse(reply.content, list(reply.calls), usage.count(messages, reply.content, reply.calls))
    return Answer(response, Provenance(reply.rule, reply.sources), seconds_to_think(request.words))


def _after(results: Sequence[str], request: Heard) -> _Reply | None:
    """The end of a turn whose tools have run, unless a question is open: they may have brought its answer."""
    if not results or (facts.asked(request.words) and not commands.appends(request.words)):
        return None
    return _Reply("tool_result", "Done: " + "\n".join(results))


def _effect(request: Heard, messages: Sequence[Message], tools: Sequence[Tool]) -> _Reply | None:
    """Tool calls for what is to be written, if anything is."""
    wanted = commands.appends(request.words)
    if not wanted:
        return None
    if not commands.can_append(tools):
        return _Reply("no_tool", "I have no tool that can do that.")
    prompt = [[message.role, message.text] for message in messages]
    calls = [
        ToolCall(_call_id([prompt, number]), commands.APPEND_TOOL, asdict(append))
        for number, append in enumerate(wanted)
    ]
    return _Reply("tool_call", "", tuple(calls))


def _call_id(made_from: object) -> str:
    # From the whole prompt: a later turn that asks for the same is a new call, a retry of this turn is not.
    return "call_" + hashlib.sha256(strict_json.dump(made_from)).hexdigest()[:24]


def _words(request: Heard, heard: Sequence[Heard]) -> _Reply:
    """An answer in words, which begins with what was attached."""
    reply = _text(request, heard)
    if not request.attachments:
        return reply
    seen = f"I received {_counted(len(request.attachments), 'attachment')}: {', '.join(request.attachments)}."
    return replace(reply, content=f"{seen} {reply.content}".rstrip())


def _text(request: Heard, heard: Sequence[Heard]) -> _Reply:
    if things := facts.asked(request.words):
        return _recollection(things, heard)
    if HOW_MANY.search(commands.without_commands(request.words)):
        sent = sum(said.role == Role.USER for said in heard)
        return _Reply("count", f"You have sent {_counted(sent, 'message')}.")
    if told := facts.stated(request.words):
        return _Reply("statement", " ".join(_acknowledgement(fact) for fact in told))
    if request.words:
        return _Reply("echo", f"You said: {commands.to_say(request.words)}")
    if request.attachments:
        return _Reply("attachments", "")
    return _Reply("empty", "I received an empty prompt.")


def _recollection(things: Sequence[str], heard: Sequence[Heard]) -> _Reply:
    found = [(thing, facts.recall(thing, heard)) for thing in things]
    sentences = [
        f"Your {thing} is {source.value}." if source else f"I do not know your {thing}." for thing, source in found
    ]
    return _Reply("recall", " ".join(sentences), sources=tuple(source for _, source in found if source))


def _acknowledgement(fact: facts.Fact) -> str:
    if fact.thing.casefold() == "name":
        return f"Nice to meet you, {fact.value}."
    return f"Noted: your {fact.thing} is {fact.value}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
