"""Tools for the files of the workspace: read, write, edit, append, list."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.models import Tool
from holdfast.runtime.permissions.modes import READ_ONLY, WORKSPACE_WRITE
from holdfast.runtime.tools import ToolContext, ToolUse, declare
from holdfast.runtime.workspace import append_line, describe_entry, names_in, open_folder, read_text, write_text

MAX_SHOWN = 40_000
MAX_LINES = 2_000
MAX_ENTRIES = 500

FILE_PATH = {"file_path": "The file, relative to the workspace."}

Use = TypeVar("Use")


def off_the_loop(work: Callable[[Use, Path], str]) -> Callable[[Use, ToolContext], Coroutine[Any, Any, str]]:
    """How a tool is run whose work on the workspace blocks: in a thread."""

    async def run(self: Use, context: ToolContext) -> str:
        return await asyncio.to_thread(work, self, context.workspace)

    return run


class ReadFile(msgspec.Struct, frozen=True):
    """Read a text file, or some of its lines."""

    file_path: str
    offset: int = 1
    limit: int = MAX_LINES

    has_effect: ClassVar[bool] = False
    need: ClassVar[str] = READ_ONLY
    declaration: ClassVar[Tool] = declare(
        "read",
        "Read a text file in the workspace, from a line on if it is long.",
        FILE_PATH,
        offset={"type": "integer", "description": "The first line, counted from 1."},
        limit={"type": "integer", "description": f"How many lines, at most {MAX_LINES}."},
    )

    def work(self, workspace: Path) -> str:
        """Do it; what the model is told. Blocks."""
        lines = read_text(workspace, self.file_path).splitlines(keepends=True)
        first = max(self.offset, 1) - 1
        wanted = lines[first : first + max(1, min(self.limit, MAX_LINES))]
        if not wanted:
            return f"[the file has {len(lines)} lines]"
        shown = max(1, sum(size <= MAX_SHOWN for size in accumulate(map(len, wanted))))
        text, left = "".join(wanted[:shown]), len(lines) - first - shown
        if len(text) > MAX_SHOWN:
            text = f"{text[:MAX_SHOWN]}\n[{len(text) - MAX_SHOWN} more characters in this line]"
        return f"{text}\n[{left} more lines: read on with offset {first + shown + 1}]" if left else text

    run = off_the_loop(work)


class WriteFile(msgspec.Struct, frozen=True):
    """Write a file, whatever was there before."""

    file_path: str
    content: str

    has_effect: ClassVar[bool] = True
    need: ClassVar[str] = WORKSPACE_WRITE
    declaration: ClassVar[Tool] = declare(
        "write",
        "Write a text file in the workspace; what was in it before is replaced.",
        FILE_PATH | {"content": "All that is to be in the file."},
    )

    def work(self, workspace: Path) -> str:
        """Do it; what the model is told. Blocks."""
        write_text(workspace, self.file_path, self.content)
        return f"wrote {len(self.content.encode())} bytes to {self.file_path}"

    run = off_the_loop(work)


class EditFile(msgspec.Struct, frozen=True):
    """Replace a text that is in a file exactly once."""

    file_path: str
    old_string: str
    new_string: str

    has_effect: ClassVar[bool] = True
    need: ClassVar[str] = WORKSPACE_WRITE
    declaration: ClassVar[Tool] = declare(
        "edit",
        "Replace a piece of text in a file of the workspace; it must be there exactly once.",
        FILE_PATH | {"old_string": "The text to replace.", "new_string": "What is to be there instead."},
    )

    def work(self, workspace: Path) -> str:
        """Do it; what the model is told. Blocks."""
        text = read_text(workspace, self.file_path)
        times = text.count(self.old_string) if self.old_string else 0
        if times != 1:
            raise InvalidInput(f"the text to replace is there {times} times in {self.file_path}, not once")
        write_text(workspace, self.file_path, text.replace(self.old_string, self.new_string))
        return f"edited {self.file_path}"

    run = off_the_loop(work)


class AppendFile(msgspec.Struct, frozen=True):
    """Append a line to a file, which is made if it is not there."""

    file_path: str
    text: str

    has_effect: ClassVar[bool] = True
    need: ClassVar[str] = WORKSPACE_WRITE
    declaration: ClassVar[Tool] = declare(
        "append_file",
        "Append a line of text to a file in the workspace; the file is made if it is not there.",
        FILE_PATH | {"text": "The line, without its line break."},
    )

    def work(self, workspace: Path) -> str:
        """Do it; what the model is told. Blocks."""
        append_line(workspace, self.file_path, self.text)
        return f"appended a line to {self.file_path}"

    run = off_the_loop(work)


class ListFiles(msgspec.Struct, frozen=True):
    """List a folder."""

    folder: str = "."

    has_effect: ClassVar[bool] = False
    need: ClassVar[str] = READ_ONLY
    declaration: ClassVar[Tool] = declare(
        "list_files",
        "List the files and folders in a folder of the workspace.",
        {},
        folder={"type": "string", "description": "The folder, relative to the workspace; without it, the workspace."},
    )

    def work(self, workspace: Path) -> str:
        """Do it; what the model is told. Blocks."""
        with open_folder(workspace, self.folder or ".") as opened:
            names = names_in(opened)
            lines = [describe_entry(opened, name) for name in names[:MAX_ENTRIES]]
        left = len(names) - len(lines)
        return "\n".join([*lines, *([f"[{left} more]"] if left else [])]) or "the folder is empty"

    run = off_the_loop(work)


FILE_TOOLS: tuple[type[ToolUse], ...] = (ReadFile, WriteFile, EditFile, AppendFile, ListFiles)
