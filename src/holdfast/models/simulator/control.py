"""What the simulator is told to do instead of answering by itself: faults, and answers in order from a script.

A fault is an error, a pause, or an answer that is cut in the middle. A request asks for one with the header
`X-Sim-Fault`; others wait in a queue, and each is given to one request. A script is used up answer by answer, whatever
is asked.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import msgspec

from holdfast.core import HoldfastError, strict_json
from holdfast.core.errors import InvalidInput, InvalidJson
from holdfast.models.messages import CompletionResponse, PromptMessage, ToolCall
from holdfast.models.simulator.answer import Provenance, SimulatorAnswer
from holdfast.models.simulator.measures import count_tokens

HEADER = "x-sim-fault"
STATUS = re.compile(r"[45]\d\d")
CUT = "cut"
SLOW = "slow"
SECONDS = 5.0


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A fault: an HTTP status, `cut` or `slow`; after `retry_after` or for `seconds`, so many `times`."""

    kind: str
    times: int = 1
    retry_after: int | None = None
    seconds: float = SECONDS

    @property
    def status(self) -> int | None:
        """The HTTP status that it answers with, if it is one."""
        return int(self.kind) if STATUS.fullmatch(self.kind) else None


def fault_from_header(value: str | None) -> Fault | None:
    """The fault that a request asks for."""
    return None if value is None else _checked(Fault(value.strip().lower()))


def fault_from_option(value: str) -> Fault:
    """A fault as the command line names it: `KIND`, or `KIND:TIMES`."""
    kind, _, times = value.partition(":")
    if times and not times.isdecimal():
        raise InvalidInput(f"{value!r} is not a fault", hint="for example 429, 500:3, cut or slow:2")
    return _checked(Fault(kind, int(times or 1)))


def faults_from_body(raw: bytes) -> list[Fault]:
    """The faults in a body: one, or a list."""
    value = strict_json.parse(raw)
    try:
        faults = msgspec.convert(value if isinstance(value, list) else [value], list[Fault])
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error), hint='for example [{"kind":"429","times":2,"retryAfter":1}]') from None
    return [_checked(fault) for fault in faults]


class FaultQueue:
    """The faults that wait for a request, first come, first served."""

    def __init__(self, waiting: Iterable[Fault] = ()) -> None:
        self._waiting: deque[Fault] = deque()
        self.add(list(waiting))

    def add(self, faults: Sequence[Fault]) -> None:
        """Have these given after those that wait already."""
        self._waiting.extend(faults)

    def take(self) -> Fault | None:
        """The fault for the next request."""
        if not self._waiting:
            return None
        fault = self._waiting.popleft()
        if fault.times > 1:
            self._waiting.appendleft(msgspec.structs.replace(fault, times=fault.times - 1))
        return fault

    def document(self) -> dict[str, Any]:
        return {"faults": [msgspec.to_builtins(fault) for fault in self._waiting]}


def _checked(fault: Fault) -> Fault:
    if fault.status is None and fault.kind not in {CUT, SLOW}:
        raise InvalidInput(f"there is no fault {fault.kind!r:.80}", hint="an HTTP status from 400 on, cut or slow")
    if fault.times < 1 or not 0 <= fault.seconds <= 600:
        raise InvalidInput("a fault happens once or more, and takes from 0 to 600 seconds")
    return fault


RULE = "script"


class ScriptUsedUp(HoldfastError):
    """Every answer of the script has been given."""

    code: ClassVar[str] = "script_used_up"
    status: ClassVar[int] = 422
    hint = "write more answers into the script, or begin again with POST /reset"


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}


class ScriptLine(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """An answer of a script: words, tool calls or both, after `delay` seconds."""

    content: str = ""
    tool_calls: list[_Call] = []
    delay: float = 0.0


class Script:
    """The lines of a script, and the place in it."""

    def __init__(self, lines: Sequence[ScriptLine]) -> None:
        self._lines = lines
        self._given = 0

    def next(self, messages: Sequence[PromptMessage]) -> SimulatorAnswer:
        """The next answer; ScriptUsedUp if there is none."""
        if self._given == len(self._lines):
            raise ScriptUsedUp(f"the script has {len(self._lines)} answers, and all have been given")
        line = self._lines[self._given]
        self._given += 1
        calls = [
            ToolCall(f"call_{self._given}_{number}", call.name, call.arguments)
            for number, call in enumerate(line.tool_calls, 1)
        ]
        response = CompletionResponse(line.content, calls, count_tokens(messages, line.content, calls))
        return SimulatorAnswer(response, Provenance(RULE), line.delay)


def read_script(raw: bytes) -> list[ScriptLine]:
    """A script: a JSON list of answers, or one answer per line; an answer is words, or an object."""
    try:
        value = strict_json.parse(raw)
        items = value if isinstance(value, list) else [value]
    except InvalidJson:
        items = [_line(number, line) for number, line in enumerate(raw.splitlines(), 1) if line.strip()]
    try:
        return [ScriptLine(item) if isinstance(item, str) else msgspec.convert(item, ScriptLine) for item in items]
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
