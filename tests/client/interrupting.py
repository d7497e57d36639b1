"""Something happens between two statements of the client: at the n-th line that a call executes.

A with statement is left on a line of its own, on which no signal is handled: the interpreter looks for signals after
calls and at jumps back, and there is none before `__exit__`. So that line is not one of those.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import holdfast.client
from holdfast.core import ids

OURS = (str(Path(holdfast.client.__file__).parent), ids.__file__)


class Interrupt(BaseException):
    """What a handler raised, as Ctrl-C does."""


class Lines:
    """Counts the lines of the client that this thread executes, and acts at one of them."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self._left = number
        self._act = act
        self.done = False
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> "Lines | None":
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line" and not _is_left(frame):
            self._left -= 1
            if self._left == 0:
                self.done = True
                self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                self._act()
        return self


@contextmanager
def at_line(number: int, act: Callable[[], None]) -> Iterator[Lines]:
    """Act at the n-th line from here on; `done` says whether there were as many."""
    lines = Lines(number, act)
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        yield lines
    finally:
        sys.settrace(before)


def interrupt() -> None:
    """Raise, as a handler of Ctrl-C or of a time limit does."""
    raise Interrupt


def _is_left(frame: FrameType) -> bool:
    """Whether the line is a with statement that is being left: `__exit__` is about to be called with three Nones."""
    code = frame.f_code
    if dis.opname[code.co_code[frame.f_lasti]] != "LOAD_CONST":
        return False
    return _source(code.co_filename)[frame.f_lineno - 1].lstrip().startswith("with ")


_sources: dict[str, list[str]] = {}


def _source(name: str) -> list[str]:
    if name not in _sources:
        _sources[name] = Path(name).read_text().splitlines()
    return _sources[name]
