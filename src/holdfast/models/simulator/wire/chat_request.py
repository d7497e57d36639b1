"""A chat completions request as OpenAI's clients send it, read into messages and tools."""

from typing import Any, Literal

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.models.messages import Message, Part, Role, Tool, ToolCall
from holdfast.models.simulator.wire.api import Asked, arguments, checked


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
    tool_choice: Any = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


def read(raw: bytes) -> Asked:
    """The request in a body; InvalidInput says what is wrong with it."""
    try:
        request = msgspec.convert(strict_json.parse(raw), _Request)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    offered = [] if request.tool_choice == "none" else request.tools or []
    return Asked(
        model=request.model,
        messages=[_message(message) for message in request.messages],
        tools=[_tool(tool.function) for tool in offered if tool.function],
        stream=bool(request.stream),
        include_usage=bool(request.stream_options and request.stream_options.include_usage),
    )


def _message(wire: _Message) -> Message:
    role = Role.SYSTEM if wire.role == "developer" else Role(wire.role)
    calls = [
        ToolCall(call.id, call.function.name, arguments(call.id, call.function.arguments))
        for call in wire.tool_calls or []
    ]
    return Message(role, checked(wire.content or ""), calls, wire.tool_call_id)


def _tool(declared: _Declaration) -> Tool:
    return Tool(declared.name, declared.description or "", declared.parameters or {})
