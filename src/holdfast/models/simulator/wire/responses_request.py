"""A request to OpenAI's Responses API, read into messages and tools.

The input is words, or items: messages, calls of functions and their outputs. The simulator keeps no response, so
what refers to an earlier one is refused.
"""

from typing import Any, Literal

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.models.messages import Message, Part, Role, Tool, ToolCall
from holdfast.models.simulator.wire.api import Asked, arguments, checked

THOUGHTS = frozenset({"reasoning", "compaction"})


class _Item(msgspec.Struct):
    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | list[Part] | None = None


class _Tool(msgspec.Struct):
    type: str
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Request(msgspec.Struct):
    model: str
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: Any = None
    stream: bool | None = None
    background: bool | None = None
    previous_response_id: str | None = None
    conversation: Any = None


def read(raw: bytes) -> Asked:
    """The request in a body; InvalidInput says what is wrong with it."""
    try:
        request = msgspec.convert(strict_json.parse(raw), _Request)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    _refuse_what_needs_keeping(request)
    system = [Message(Role.SYSTEM, request.instructions)] if request.instructions else []
    items = [_Item(role="user", content=request.input)] if isinstance(request.input, str) else request.input
    offered = [] if request.tool_choice == "none" else request.tools or []
    return Asked(
        model=request.model,
        messages=[*system, *(_message(item) for item in items if item.type not in THOUGHTS)],
        tools=[_tool(tool, tool.name) for tool in offered if tool.type == "function" and tool.name],
        stream=bool(request.stream),
    )


def _refuse_what_needs_keeping(request: _Request) -> None:
    for field in ("previous_response_id", "conversation", "background"):
        if getattr(request, field):
            raise InvalidInput(
                f"{field} is not supported: the simulator keeps no responses",
                hint="send the whole input with each request",
            )


def _message(item: _Item) -> Message:
    match item:
        case _Item(type="message", role=str(role), content=content) if content is not None:
            return Message(Role.SYSTEM if role == "developer" else Role(role), checked(content))
        case _Item(type="function_call", call_id=str(call_id), name=str(name)):
            call = ToolCall(call_id, name, arguments(call_id, item.arguments or ""))
            return Message(Role.ASSISTANT, "", [call])
        case _Item(type="function_call_output", call_id=str(call_id), output=output) if output is not None:
            return Message(Role.TOOL, checked(output), tool_call_id=call_id)
        case _Item(type="message" | "function_call" | "function_call_output"):
            raise InvalidInput(f"an item of type {item.type!r} lacks what such an item has")
    raise InvalidInput(f"an item of type {item.type!r:.80} is not supported")


def _tool(declared: _Tool, name: str) -> Tool:
    return Tool(name, declared.description or "", declared.parameters or {})
