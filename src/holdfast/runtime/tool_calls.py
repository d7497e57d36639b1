"""The tool calls of one turn, each run once.

A call with an effect is recorded before and after it runs. Its id follows from the turn, the tool and what it is asked,
so a turn that was interrupted and runs again finds its calls: one that ended gives its result again, and one whose end
nobody knows is not run again; the model is told so.

For that, what a call is asked is spelt the one way. A model that is asked again may write `./log.txt` for `log.txt`:
that must not make the effect another one, which would run again. The call itself is run as it was written.
"""

import asyncio
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from holdfast.a2a import Turn
from holdfast.a2a.turns.turn_queue import LEASE_MS
from holdfast.core import HoldfastError, strict_json
from holdfast.core.confined_files import OutsideWorkspace
from holdfast.core.errors import Conflict, LeaseLost
from holdfast.core.redact import redact
from holdfast.core.retry import PASSING, until_written
from holdfast.core.statuses import FAILED, FINISHED
from holdfast.models import ToolCall
from holdfast.runtime.peers import Peers
from holdfast.runtime.tools import ToolContext, ToolUse
from holdfast.runtime.workspace import within

MAX_RESULT = 50_000
GRACE_SECONDS = 1.0
FRESH_SECONDS = 1.0
"""For how long what the store said of the session is good enough to run a tool."""
PATHS = ("file_path", "folder")
PORTS = {"http": 80, "https": 443}


class ToolCalls:
    """Runs the calls of one turn."""

    def __init__(self, turn: Turn, tools: Sequence[type[ToolUse]], *, agent: str, peers: Peers) -> None:
        self._turn = turn
        self._tools = {tool.declaration.name: tool for tool in tools}
        self._agent = agent
        self._peers = peers
        self._made: Counter[str] = Counter()

    async def run(self, call: ToolCall) -> str:
        """What a call gives, or why it gives nothing."""
        tool = self._tools.get(call.name)
        if tool is None:
            return f"error: there is no tool {call.name!r}"
        try:
            use = msgspec.convert(call.arguments, tool)
        except msgspec.ValidationError as error:
            return f"error: wrong arguments for {call.name}: {error}"
        arguments = await asyncio.to_thread(canonical_arguments, use, self._turn.workspace)
        context = ToolContext(self._turn, self._agent, self._peers, self._id(call.name, arguments))
        if not tool.has_effect:
            return (await _tried(use, context))[1]
        return await self._once(use, arguments, context)

    async def _once(self, use: ToolUse, arguments: dict[str, Any], context: ToolContext) -> str:
        name, shown = use.declaration.name, redact(strict_json.dump(arguments).decode())
        store, session_id = self._turn.store, self._turn.session_id
        effects = store.effects
        # Not fenced: what has happened outside is so, whoever has the session by now.
        ends = store.for_tenant(store.tenant).effects
        # Of this attempt alone: another process that comes to the same call is not a retry of ours.
        key = uuid.uuid4().hex
        asked = time.monotonic()
        try:
            started = await until_written(
                lambda: effects.start(
                    session_id,
                    context.call_id,
                    name,
                    arguments,
                    shown=shown,
                    lease=self._turn.lease,
                    idempotency_key=key,
                )
            )
        except LeaseLost:
            raise
        except Conflict:
            return (
                f"error: this call of {name} was begun before, and its end is not known: it may have run, and "
                "was not run again"
            )
        if not started.run:
            return str(started.effect.result)

        async def run() -> str:
            if time.monotonic() - asked > FRESH_SECONDS:  # this process slept: its session may be another's by now
                await until_written(lambda: store.leases.renew(self._turn.lease, LEASE_MS))
            status, result = await _tried(use, context)
            await until_written(lambda: ends.finish(session_id, context.call_id, status, result))
            return result

        return await _unbroken(run())

    def _id(self, name: str, arguments: dict[str, Any]) -> str:
        """The same for the same call of the same turn; the model's own ids differ each time it is asked."""
        digest = hashlib.sha256(strict_json.canonical([name, arguments])).hexdigest()[:32]
        self._made[digest] += 1
        return f"{self._turn.task_id}:{digest}:{self._made[digest]}"


def canonical_arguments(use: ToolUse, workspace: Path) -> dict[str, Any]:
    """A call's arguments: a path by its place in the workspace, a URL without what changes nothing. Blocks."""
    given: dict[str, Any] = msgspec.to_builtins(use)
    for name in PATHS:
        if isinstance(given.get(name), str):
            given[name] = _place(workspace, given[name])
    if isinstance(given.get("url"), str):
        given["url"] = _address(given["url"])
    return given


async def _tried(use: ToolUse, context: ToolContext) -> tuple[str, str]:
    """How a call ended, and what the model is told."""
    try:
        return FINISHED, (await use.run(context))[:MAX_RESULT]
    except (LeaseLost, *PASSING):
        raise  # nothing that the model could mend: the turn is over here, or begun again
    except HoldfastError as error:
        return FAILED, f"error: {error.message}"
    except (OSError, ValueError) as error:
        return FAILED, f"error: {use.declaration.name} failed: {error}"


async def _unbroken(work: Coroutine[Any, Any, str]) -> str:
    """The result of work that gets a moment to come to its end if the turn is cancelled: it may be half done."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running}, timeout=GRACE_SECONDS)
        running.cancel()
        raise


def _place(workspace: Path, path: str) -> str:
    """A file's own path in the workspace, whatever links lead there; as it is if it leads elsewhere."""
    try:
        return within(workspace, path).relative_to(workspace.resolve()).as_posix()
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
