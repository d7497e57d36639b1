"""The text protocol for models without tool calls of their own: one `Action:` line, one `Input:` line, nothing after.

A message either is an answer, without a line that begins with `Action:` or `Input:`, or ends with one call whose input
is a JSON object. Anything in between is malformed: nothing is guessed and nothing is run; the model is told what is
wrong, a bounded number of times. A conversation is kept in the form of tool calls, and told in this one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.messages import PromptMessage, PromptRole, Tool, ToolCall

MAX_REPAIRS = 2
NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}\Z")
MARKED = re.compile(r"^(Action|Input):", re.MULTILINE)

HOW = """\
You call a tool by ending your message with these two lines, and nothing after them:
Action: <the tool's name>
Input: <a JSON object with its arguments>
Call one tool at a time; what it gave comes in the next message as an observation. To answer, write without such lines.
The tools:"""


@dataclass(frozen=True, slots=True)
class ReactMessage:
    """What a model said: words, with a call if it made one, or with what is wrong if it tried to."""

    words: str
    name: str | None = None
    arguments: dict[str, object] | None = None
    problem: str | None = None


def parse(text: str) -> ReactMessage:
    """A model's message, read strictly."""
    marks = list(MARKED.finditer(text))
    if not marks:
        return ReactMessage(text.strip())
    names = [mark[1] for mark in marks]
    words = text[: marks[0].start()].strip()
    if names != ["Action", "Input"]:
        return ReactMessage(words, problem=_wrong_lines(names))
    action, given = marks
    name = text[action.end() : given.start()].strip()
    if not NAME.match(name):
        return ReactMessage(words, problem=f"{name!r:.80} is not the name of a tool")
    try:
        arguments = strict_json.parse(text[given.end() :].strip().encode(errors="surrogatepass"))
    except InvalidJson as error:
        return ReactMessage(words, problem=f"the input is not one JSON object with nothing after it: {error.message}")
    if not isinstance(arguments, dict):
        return ReactMessage(words, problem="the input is not a JSON object")
    return ReactMessage(words, name, arguments)


def repair_request(problem: str) -> str:
    """What a model is told whose message could not be read."""
    return (
        f"Your message could not be read, and nothing was run: {problem}. End it with one line `Action: <tool>` and "
        "one line `Input: <JSON object>`, or answer without such lines."
    )


def instructions(tools: Sequence[Tool]) -> str:
    """How a model is told of the protocol and of its tools."""
    lines = [
        f"- {tool.name}: {tool.description} Arguments: {strict_json.dump(tool.parameters).decode()}" for tool in tools
    ]
    return "\n".join([HOW, *lines])


def as_text(messages: Sequence[PromptMessage]) -> list[PromptMessage]:
    """A conversation in this protocol: calls as text, and what the tools gave as observations."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return [_told(message, names) for message in messages]


def _told(message: PromptMessage, names: dict[str, str]) -> PromptMessage:
    if message.role == PromptRole.TOOL:
        name = names.get(message.tool_call_id or "", "a tool")
        return PromptMessage(PromptRole.USER, f"Observation from {name}:\n{message.text}")
    if message.tool_calls:
        blocks = [message.text, *map(_block, message.tool_calls)]
        return PromptMessage(message.role, "\n".join(filter(None, blocks)))
    return message


def _block(call: ToolCall) -> str:
    return f"Action: {call.name}\nInput: {strict_json.dump(call.arguments).decode()}"


def _wrong_lines(names: Sequence[str]) -> str:
    actions, inputs = names.count("Action"), names.count("Input")
    if actions > 1:
        return f"it has {actions} Action lines, and one call at a time is allowed"
    if not actions:
        return "it has an Input line without an Action line before it"
    return (
        "it has an Action line without an Input line" if not inputs else "it needs one Action line, then one Input line"
    )
