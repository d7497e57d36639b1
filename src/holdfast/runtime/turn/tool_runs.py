"""The tool calls of one turn: each is permitted, understood, recorded around if it has an effect, and run once.

Whatever becomes of a call, the model is told in words. What a call is asked is spelt the one way for the record: a
model that is asked again may write `./log.txt` for `log.txt`, and that must not make the effect another one. The call
itself is run as it was written.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from holdfast.core import HoldfastError
from holdfast.core.confined_files import OutsideWorkspace
from holdfast.core.errors import LeaseLost
from holdfast.core.retry import PASSING
from holdfast.core.statuses import FAILED, FINISHED
from holdfast.models.messages import Tool, ToolCall
from holdfast.runtime.permissions.modes import DANGER_FULL_ACCESS
from holdfast.runtime.tools import PATHS, ToolContext, ToolUse
from holdfast.runtime.workspace import place_in

MAX_RESULT = 50_000
GRACE_SECONDS = 1.0
"""For how long a tool that runs may go on when its turn is cancelled."""
PORTS = {"http": 80, "https": 443}
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a call ended (finished, failed or refused), what the model is told, and the file that it changed, if any."""

    status: str
    text: str
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class KnownCall:
    """A call of a tool that there is: the model's own id of it, and its arguments spelt the one way."""

    model_id: str
    name: str
    arguments: dict[str, Any]


Run = Callable[[], Awaitable[tuple[str, str]]]
Permit = Callable[[str, dict[str, Any], str], Awaitable[str | None]]
"""Why a tool may not be called with these arguments, given what it needs; None if it may."""


class EffectLog(Protocol):
    """Where the effects of a turn are recorded, before and after they happen."""

    def call_id(self, call: KnownCall) -> str:
        """The id of a call."""
        ...

    async def once(self, call_id: str, call: KnownCall, run: Run) -> tuple[str, str]:
        """Run it unless it was begun before; how it ended, and what the model is told."""
        ...


class ToolRuns:
    """Runs the calls of one turn."""

    def __init__(
        self,
        tools: Sequence[type[ToolUse]],
        *,
        workspace: Path,
        context: Callable[[str], ToolContext],
        effects: EffectLog,
        permit: Permit | None = None,
    ) -> None:
        self.declarations: list[Tool] = [tool.declaration for tool in tools]
        self._tools = {tool.declaration.name: tool for tool in tools}
        self._workspace = workspace
        self._context = context
        self._effects = effects
        self._permit = permit

    async def run(self, call: ToolCall) -> ToolResult:
        """What a call gives, or why it gives nothing."""
        tool = self._tools.get(call.name)
        if self._permit is not None:
            refused = await self._permit(call.name, call.arguments, DANGER_FULL_ACCESS if tool is None else tool.need)
            if refused is not None:
                return ToolResult(REFUSED, f"error: not permitted: {refused}")
        if tool is None:
            return ToolResult(REFUSED, f"error: there is no tool {call.name!r}")
        try:
            use = msgspec.convert(call.arguments, tool)
        except msgspec.ValidationError as error:
            return ToolResult(REFUSED, f"error: wrong arguments for {call.name}: {error}")
        known = KnownCall(call.id, call.name, await asyncio.to_thread(canonical_arguments, use, self._workspace))
        call_id = self._effects.call_id(known)

        async def run() -> tuple[str, str]:
            return await _tried(use, self._context(call_id))

        if not tool.has_effect:
            return ToolResult(*await run())
        status, text = await unbroken(self._effects.once(call_id, known, run))
        return ToolResult(status, text, known.arguments.get("file_path") if status == FINISHED else None)


def canonical_arguments(use: ToolUse, workspace: Path) -> dict[str, Any]:
    """A call's arguments: a path by its place in the workspace, a URL without what changes nothing. Blocks."""
    given: dict[str, Any] = msgspec.to_builtins(use)
    for name in PATHS:
        if isinstance(given.get(name), str):
            given[name] = _own_path(workspace, given[name])
    if isinstance(given.get("url"), str):
        given["url"] = _address(given["url"])
    return given


async def unbroken(
    work: Coroutine[Any, Any, tuple[str, str]], *, grace_seconds: float = GRACE_SECONDS
) -> tuple[str, str]:
    """The result of work that gets a moment to come to its end if the turn is cancelled: it may be half done."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        try:
            await asyncio.wait({running}, timeout=grace_seconds)
        finally:  # also if it is cancelled once more
            running.cancel()
        raise


async def _tried(use: ToolUse, context: ToolContext) -> tuple[str, str]:
    """How a call ended, and what the model is told."""
    try:
        return FINISHED, _bounded(await use.run(context))
    except (LeaseLost, *PASSING):
        raise  # nothing that the model could mend: the turn is over here, or begun again
    except HoldfastError as error:
        return FAILED, f"error: {error.message}"
    except (OSError, ValueError) as error:
        return FAILED, f"error: {use.declaration.name} failed: {error}"


def _bounded(text: str) -> str:
    """A result as far as there is room for it, and how much of it is not told."""
    left = len(text) - MAX_RESULT
    return f"{text[:MAX_RESULT]}\n[{left} more characters]" if left > 0 else text


def _own_path(workspace: Path, path: str) -> str:
    """A file's own path in the workspace, whatever links lead there; as it is if it leads elsewhere."""
    try:
        return place_in(workspace, path)
    except (OutsideWorkspace, OSError, ValueError, RuntimeError):
        return path


def _address(url: str) -> str:
    """A URL with its scheme and host in lower case, and without its scheme's own port and a fragment."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    user, at, _ = parts.netloc.rpartition("@")
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    shown = "" if port in (None, PORTS.get(parts.scheme)) else f":{port}"
    return parts._replace(netloc=f"{user}{at}{host}{shown}", fragment="").geturl()
