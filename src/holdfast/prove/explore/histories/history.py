"""A history: its operations and the seed that its values are drawn from; and the file that it is replayed from."""

from pathlib import Path

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.prove.explore.histories.operations import MESSAGES, Operation

FORMAT = 1
MESSAGE_LIMIT = 100_000
"""Message numbers are below it; from it on they mean the second body of a message."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done, in order; `number` is its place in the exploration that it comes from."""

    seed: int
    number: int
    operations: tuple[Operation, ...]


class _File(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    course: Course


def write(course: Course, path: Path) -> None:
    """Write the file that `--replay` reads."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(_File(format=FORMAT, course=course)), indent=2) + b"\n")


def read(path: Path) -> Course:
    """The history in a file; InvalidInput if there is none."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} has no history: {error}", hint="`holdfast prove explore` writes one for each violation"
        ) from None
    if found.format != FORMAT:
        raise InvalidInput(f"{path} has a history of format {found.format}", hint=f"this version reads {FORMAT}")
    if wrong := _wrong(found.course):
        raise InvalidInput(f"{path} has a history that cannot be performed: {wrong}", hint="see what its file says")
    return found.course


def _wrong(course: Course) -> str:
    """Why a history cannot be performed, or judged; empty if it can."""
    if not course.operations:
        return "there is nothing to do"
    messages = [operation.message for operation in course.operations if isinstance(operation, MESSAGES)]
    for number in messages:
        if not 0 < number < MESSAGE_LIMIT:
            return f"there can be no message {number}"
        if messages.count(number) > 1:
            return f"it has message {number} twice"
    for operation in course.operations:
        for name, value in msgspec.structs.asdict(operation).items():
            if isinstance(value, int) and value < (1 if name == "turns" else 0):
                return f"{name} cannot be {value}"
    return ""
