"""What the simulator needs of an API: to read a request, and to write an answer or an error in its own shape."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.http import server_sent_events
from holdfast.models.messages import TEXT_PARTS, CompletionResponse, Content, PromptMessage, Tool


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is asked for: an answer to `messages`, at once or streamed."""

    model: str
    messages: list[PromptMessage]
    tools: list[Tool]
    stream: bool
    include_usage: bool = True


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """What every document of one answer repeats; `created` is in seconds."""

    id: str
    model: str
    created: int
    include_usage: bool = True


@dataclass(frozen=True, slots=True)
class ApiProblem:
    """What went wrong: the HTTP status, a stable code where there is one, and what to tell people."""

    status: int
    message: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Api:
    """An API: its name in the log, how its ids begin, and its functions.

    `stream` gives the events of a streamed answer, `error_event` the one that ends a stream with an error.
    """

    name: str
    prefix: str
    read: Callable[[bytes], ModelRequest]
    document: Callable[[AnswerHead, CompletionResponse], dict[str, Any]]
    stream: Callable[[AnswerHead, CompletionResponse], Iterator[bytes]]
    error: Callable[[ApiProblem], dict[str, Any]]
    error_event: Callable[[ApiProblem], bytes]


def check_content(content: Content) -> Content:
    """The content of a message if every part says its type, and every part of text has some."""
    for part in content if isinstance(content, list) else []:
        if not isinstance(part.get("type"), str):
            raise InvalidInput("a part of a message's content has no type")
        if part["type"] in TEXT_PARTS and not isinstance(part.get("text"), str):
            raise InvalidInput(f"a part of type {part['type']!r} has no text")
    return content


def arguments(call_id: str, text: str) -> dict[str, Any]:
    """The arguments of a tool call, which the APIs of OpenAI send as text."""
    found = strict_json.parse(text.encode() or b"{}")
    if not isinstance(found, dict):
        raise InvalidInput(f"the arguments of the tool call {call_id!r:.80} are not a JSON object")
    return found


def event(document: dict[str, Any], *, named: bool = False) -> bytes:
    """A server-sent event; a named one says its type in front as well."""
    return server_sent_events.event(strict_json.encode(document), kind=document["type"] if named else None)
