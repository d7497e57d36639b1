"""A request to Anthropic's Messages API, read into messages and tools.

The results of tools come as blocks of a user message there: each becomes a message of its own, in its place, and
what stands around it stays the user's.
"""

from typing import Any, Literal, TypeVar

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.models.messages import Content, Message, Part, Role, Tool, ToolCall
from holdfast.models.simulator.wire.api import Asked, checked

THOUGHTS = frozenset({"thinking", "redacted_thinking"})


class _Message(msgspec.Struct):
    role: Literal["user", "assistant", "system"]
    content: str | list[Part]


class _Tool(msgspec.Struct):
    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class _Counted(msgspec.Struct):
    model: str
    messages: list[_Message]
    system: str | list[Part] | None = None
    tools: list[_Tool] | None = None
    tool_choice: dict[str, Any] | None = None


class _Request(_Counted, kw_only=True):
    max_tokens: int
    stream: bool | None = None


T = TypeVar("T", bound=_Counted)


def read(raw: bytes) -> Asked:
    """The request in a body; InvalidInput says what is wrong with it."""
    request = _converted(raw, _Request)
    return _asked(request, stream=bool(request.stream))


def read_to_count(raw: bytes) -> Asked:
    """A request whose tokens are to be counted: it needs no limit for an answer."""
    return _asked(_converted(raw, _Counted), stream=False)


def _converted(raw: bytes, kind: type[T]) -> T:
    try:
        return msgspec.convert(strict_json.parse(raw), kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None


def _asked(request: _Counted, *, stream: bool) -> Asked:
    system = [Message(Role.SYSTEM, checked(request.system))] if request.system else []
    none = request.tool_choice is not None and request.tool_choice.get("type") == "none"
    offered = [] if none else request.tools or []
    return Asked(
        model=request.model,
        messages=[*system, *(said for message in request.messages for said in _messages(message))],
        tools=[_tool(tool, tool.name) for tool in offered if tool.name and tool.input_schema is not None],
        stream=stream,
    )


def _messages(wire: _Message) -> list[Message]:
    role, content = Role(wire.role), checked(wire.content)
    if isinstance(content, str):
        return [Message(role, content)]
    results = [_result(part) for part in content if part["type"] == "tool_result"]
    calls = [_call(part) for part in content if part["type"] == "tool_use"]
    rest = [part for part in content if part["type"] not in {"tool_result", "tool_use", *THOUGHTS}]
    if calls or rest or not results:
        return [*results, Message(role, rest, calls)]
    return results


def _result(part: Part) -> Message:
    content: Content = part.get("content") or ""
    if not isinstance(part.get("tool_use_id"), str) or not isinstance(content, str | list):
        raise InvalidInput("a tool_result has no tool_use_id, or content that is neither text nor blocks")
    if isinstance(content, list) and not all(isinstance(block, dict) for block in content):
        raise InvalidInput("the content of a tool_result has a block that is not an object")
    return Message(Role.TOOL, checked(content), tool_call_id=part["tool_use_id"])


def _call(part: Part) -> ToolCall:
    if not (
        isinstance(part.get("id"), str) and isinstance(part.get("name"), str) and isinstance(part.get("input"), dict)
    ):
        raise InvalidInput("a tool_use lacks its id, its name or its input")
    return ToolCall(part["id"], part["name"], part["input"])


def _tool(declared: _Tool, name: str) -> Tool:
    return Tool(name, declared.description or "", declared.input_schema or {})
