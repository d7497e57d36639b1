"""Answers that are given in order, whatever is asked."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from holdfast.core import HoldfastError, strict_json
from holdfast.core.errors import InvalidInput, InvalidJson
from holdfast.models.messages import CompletionResponse, Message, ToolCall
from holdfast.models.simulator import usage
from holdfast.models.simulator.answer import Answer, Provenance

RULE = "script"


class ScriptUsedUp(HoldfastError):
    """Every answer of the script has been given."""

    code: ClassVar[str] = "script_used_up"
    status: ClassVar[int] = 422
    hint = "write more answers into the script, or begin again with POST /reset"


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}


class Line(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """An answer of a script: words, tool calls or both, after `delay` seconds."""

    content: str = ""
    tool_calls: list[_Call] = []
    delay: float = 0.0


class Script:
    """The lines of a script, and the place in it."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._given = 0

    def next(self, messages: Sequence[Message]) -> Answer:
        """The next answer; ScriptUsedUp if there is none."""
        if self._given == len(self._lines):
            raise ScriptUsedUp(f"the script has {len(self._lines)} answers, and all have been given")
        line = self._lines[self._given]
        self._given += 1
        calls = [
            ToolCall(f"call_{self._given}_{number}", call.name, call.arguments)
            for number, call in enumerate(line.tool_calls, 1)
        ]
        response = CompletionResponse(line.content, calls, usage.count(messages, line.content, calls))
        return Answer(response, Provenance(RULE), line.delay)


def read(raw: bytes) -> list[Line]:
    """A script: a JSON list of answers, or one answer per line; an answer is words, or an object."""
    try:
        value = strict_json.parse(raw)
        items = value if isinstance(value, list) else [value]
    except InvalidJson:
        items = [_line(number, line) for number, line in enumerate(raw.splitlines(), 1) if line.strip()]
    try:
        return [Line(item) if isinstance(item, str) else msgspec.convert(item, Line) for item in items]
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"the script has an answer that is none: {error}",
            hint='an answer is "words" or {"content":"words","toolCalls":[{"name":"…","arguments":{}}],"delay":0}',
        ) from None


def _line(number: int, line: bytes) -> Any:
    try:
        return strict_json.parse(line)
    except InvalidJson as error:
        raise InvalidInput(f"line {number} of the script: {error.message}") from None
