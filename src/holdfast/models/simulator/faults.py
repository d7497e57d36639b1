"""Faults that the simulator is told to give: an error, a pause, or an answer that is cut in the middle.

A request asks for one with the header `X-Sim-Fault`; others wait in a queue, and each is given to one request.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput

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


def from_header(value: str | None) -> Fault | None:
    """The fault that a request asks for."""
    return None if value is None else _checked(Fault(value.strip().lower()))


def from_option(value: str) -> Fault:
    """A fault as the command line names it: `KIND`, or `KIND:TIMES`."""
    kind, _, times = value.partition(":")
    if times and not times.isdecimal():
        raise InvalidInput(f"{value!r} is not a fault", hint="for example 429, 500:3, cut or slow:2")
    return _checked(Fault(kind, int(times or 1)))


def from_body(raw: bytes) -> list[Fault]:
    """The faults in a body: one, or a list."""
    value = strict_json.parse(raw)
    try:
        faults = msgspec.convert(value if isinstance(value, list) else [value], list[Fault])
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error), hint='for example [{"kind":"429","times":2,"retryAfter":1}]') from None
    return [_checked(fault) for fault in faults]


class Faults:
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
        """Those that wait."""
        return {"faults": [msgspec.to_builtins(fault) for fault in self._waiting]}


def _checked(fault: Fault) -> Fault:
    if fault.status is None and fault.kind not in {CUT, SLOW}:
        raise InvalidInput(f"there is no fault {fault.kind!r:.80}", hint="an HTTP status from 400 on, cut or slow")
    if fault.times < 1 or not 0 <= fault.seconds <= 600:
        raise InvalidInput("a fault happens once or more, and takes from 0 to 600 seconds")
    return fault
