"""What the runtime keeps: what a user said with the files that came with it, and the task that answers it."""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from holdfast.core import TaskState


@dataclass(frozen=True, slots=True)
class File:
    """A file that came with a message, in it or `by_reference`; `text` is its content if that is text."""

    name: str
    media_type: str
    size: int
    text: str | None
    by_reference: bool = False

    @classmethod
    def of(cls, name: str, content: bytes, media_type: str | None = None, *, by_reference: bool = False) -> Self:
        """A file with this content."""
        try:
            text = None if b"\0" in content else content.decode()
        except UnicodeDecodeError:
            text = None
        media_type = media_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return cls(name, media_type, len(content), text, by_reference)


@dataclass(frozen=True, slots=True)
class UserWords:
    """One message of a user, without words if it is a file only; `reply` is what it was answered with, once it was."""

    text: str
    files: tuple[File, ...] = ()
    reply: str = ""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The same, as it was written to the log."""
        return cls(record["text"], tuple(File(**file) for file in record["files"]), record["reply"])


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user's message as it came; `task_id` is the task that it follows, if it names one."""

    message_id: str
    context_id: str | None
    task_id: str | None
    said: UserWords


@dataclass(frozen=True, slots=True)
class UserTask:
    """One turn: the request, where it is in its life, and the answer so far; `approval` is what its user said to a
    question of it."""

    task_id: str
    context_id: str
    message_id: str
    request: UserWords
    state: TaskState
    text: str = ""
    approval: str = ""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The same, as it was written to the log."""
        state, request = TaskState(record["state"]), UserWords.from_record(record["request"])
        return cls(**{**record, "state": state, "request": request})
