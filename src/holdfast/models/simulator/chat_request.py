"""A chat completions request as OpenAI's clients send it, read into messages and tools."""

from typing import Any, Literal

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.models.messages import TEXT_PARTS, Content, Message, Part, Role, Tool, ToolCall


class _Function(msgspec.Struct):
    name: str
    arguments: str = "{}"


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Message(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Declaration(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(msgspec.Struct):
    function: _Declaration | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Request(msgspec.Struct):
    model: str
    messages: list[_Message]
    tools: list[_Tool] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


class ChatRequest(msgspec.Struct, frozen=True):
    """What is asked for: an answer to `messages`, at once or streamed."""

    model: str
    messages: list[Message]
    tools: list[Tool]
    stream: bool
    include_usage: bool


def read(raw: bytes) -> ChatRequest:
    """The request in a body; InvalidInput says what is wrong with it."""
    try:
        request = msgspec.convert(strict_json.parse(raw), _Request)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    return ChatRequest(
        model=request.model,
        messages=[_message(message) for message in request.messages],
        tools=[_tool(tool.function) for tool in request.tools or [] if tool.function],
        stream=bool(request.stream),
        include_usage=bool(request.stream_options and request.stream_options.include_usage),
    )


def _message(wire: _Message) -> Message:
    role = Role.SYSTEM if wire.role == "developer" else Role(wire.role)
    calls = [ToolCall(call.id, call.function.name, _arguments(call)) for call in wire.tool_calls or []]
    return Message(role, _content(wire.content or ""), calls, wire.tool_call_id)


def _content(content: Content) -> Content:
    for part in content if isinstance(content, list) else []:
        if not isinstance(part.get("type"), str):
            raise InvalidInput("a part of a message's content has no type")
        if part["type"] in TEXT_PARTS and not isinstance(part.get("text"), str):
            raise InvalidInput(f"a part of type {part['type']!r} has no text")
    return content


def _arguments(call: _Call) -> dict[str, Any]:
    arguments = strict_json.parse(call.function.arguments.encode() or b"{}")
    if not isinstance(arguments, dict):
        raise InvalidInput(f"the arguments of the tool call {call.id!r:.80} are not a JSON object")
    return arguments


def _tool(declared: _Declaration) -> Tool:
    return Tool(declared.name, declared.description or "", declared.parameters or {})
