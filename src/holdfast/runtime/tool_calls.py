"""The tool calls of one turn, each run once.

A call with an effect is recorded before and after it runs. Its id follows from the turn, the tool and what it is asked,
so a turn that was interrupted and runs again finds its calls: one that ended gives its result again, and one whose end
nobody knows is not run again; the model is told so.
"""

import asyncio
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Any

import msgspec

from holdfast.a2a import Turn
from holdfast.a2a.turns.turn_queue import LEASE_MS
from holdfast.core import HoldfastError, strict_json
from holdfast.core.errors import Conflict, LeaseLost
from holdfast.core.redact import redact
from holdfast.core.retry import PASSING, until_written
from holdfast.core.statuses import FAILED, FINISHED
from holdfast.models import ToolCall
from holdfast.runtime.arguments import plain
from holdfast.runtime.peers import Peers
from holdfast.runtime.tools import Desk, ToolUse

MAX_RESULT = 50_000
GRACE_SECONDS = 1.0
FRESH_SECONDS = 1.0
"""For how long what the store said of the session is good enough to run a tool."""


class Calls:
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
        arguments = await asyncio.to_thread(plain, use, self._turn.workspace)
        desk = Desk(self._turn, self._agent, self._peers, self._id(call.name, arguments))
        if not tool.has_effect:
            return (await _tried(use, desk))[1]
        return await self._once(use, arguments, desk)

    async def _once(self, use: ToolUse, arguments: dict[str, Any], desk: Desk) -> str:
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
                    desk.call_id,
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
            status, result = await _tried(use, desk)
            await until_written(lambda: ends.finish(session_id, desk.call_id, status, result))
            return result

        return await _unbroken(run())

    def _id(self, name: str, arguments: dict[str, Any]) -> str:
        """The same for the same call of the same turn; the model's own ids differ each time it is asked."""
        digest = hashlib.sha256(strict_json.canonical([name, arguments])).hexdigest()[:32]
        self._made[digest] += 1
        return f"{self._turn.task_id}:{digest}:{self._made[digest]}"


async def _tried(use: ToolUse, desk: Desk) -> tuple[str, str]:
    """How a call ended, and what the model is told."""
    try:
        return FINISHED, (await use.run(desk))[:MAX_RESULT]
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
