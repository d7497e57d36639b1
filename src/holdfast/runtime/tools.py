"""The tools that the bundled agent offers its model, each confined to the turn's workspace.

A tool is a class whose fields are its arguments. One that cannot do what is asked says why in words: they go back
to the model, which may try otherwise.
"""

import asyncio
import os
from pathlib import Path
from typing import ClassVar, Protocol

import msgspec

from holdfast.core import HoldfastError
from holdfast.models import Tool, ToolCall
from holdfast.runtime.workspace import inside


class WorkspaceTool(Protocol):
    """A call of a tool, with its arguments."""

    declaration: ClassVar[Tool]

    def run(self, workspace: Path) -> str:
        """Do it; what the model is told. Blocks."""
        ...


class AppendFile(msgspec.Struct, frozen=True):
    """Append a line to a file, which is made if it is not there."""

    file_path: str
    text: str

    declaration: ClassVar[Tool] = Tool(
        "append_file",
        "Append a line of text to a file in the workspace; the file is made if it is not there.",
        {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file, relative to the workspace."},
                "text": {"type": "string", "description": "The line, without its line break."},
            },
            "required": ["file_path", "text"],
        },
    )

    def run(self, workspace: Path) -> str:
        """Do it; what the model is told. Blocks."""
        path = inside(workspace, self.file_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        # The path has no symbolic link in it any more: one that appears now is somebody's trick.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
            file.write(f"{self.text}\n".encode())
        return f"appended a line to {self.file_path}"


TOOLS: tuple[type[WorkspaceTool], ...] = (AppendFile,)


async def run(call: ToolCall, workspace: Path) -> str:
    """What a tool call gives, or why it gives nothing."""
    tool = next((tool for tool in TOOLS if tool.declaration.name == call.name), None)
    if tool is None:
        return f"error: there is no tool {call.name!r}"
    try:
        return await asyncio.to_thread(msgspec.convert(call.arguments, tool).run, workspace)
    except msgspec.ValidationError as error:
        return f"error: wrong arguments for {call.name}: {error}"
    except HoldfastError as error:
        return f"error: {error.message}"
    except (OSError, ValueError) as error:
        return f"error: {call.name} failed: {error}"
