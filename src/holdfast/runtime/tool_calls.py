"""The tool calls of one turn over A2A, each run once.

A call with an effect is recorded before and after it runs. Its id follows from the turn, the tool and what it is asked,
so a turn that was interrupted and runs again finds its calls: one that ended gives its result again, and one whose end
nobody knows is not run again; the model is told so.
"""

import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Sequence

from holdfast.a2a import Turn
from holdfast.a2a.turns.timing import LEASE_MS
from holdfast.core import strict_json
from holdfast.core.errors import Conflict, LeaseLost
from holdfast.core.redact import redact
from holdfast.core.retry import until_written
from holdfast.core.statuses import FAILED, FINISHED
from holdfast.runtime.peer_wire import HOPS, Question
from holdfast.runtime.peers import Peers, context_with
from holdfast.runtime.tools import ToolContext, ToolUse
from holdfast.runtime.turn.tool_runs import KnownCall, Run, ToolRuns

FRESH_SECONDS = 1.0
"""For how long what the store said of the session is good enough to run a tool."""


def tool_calls(turn: Turn, tools: Sequence[type[ToolUse]], *, agent: str, peers: Peers) -> ToolRuns:
    """What runs the tool calls of a turn."""

    async def ask_agent(url: str, text: str, call_id: str) -> str:
        hops = (turn.metadata or {}).get(HOPS, 0)
        conversation = context_with(turn.store.store_id, turn.store.tenant, turn.session_id, url)
        question = Question(text, call_id, conversation, max(hops, 0) if isinstance(hops, int) else 0)
        return await peers.ask(url, question)

    def context(call_id: str) -> ToolContext:
        return ToolContext(turn.workspace, turn.store.memories, agent, turn.session_id, call_id, ask_agent)

    return ToolRuns(tools, workspace=turn.workspace, context=context, effects=TurnEffects(turn))


class TurnEffects:
    """The effects of one turn, in the log of its session."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._made: Counter[str] = Counter()

    def call_id(self, call: KnownCall) -> str:
        """The same for the same call of the same turn; the model's own ids differ each time it is asked."""
        digest = hashlib.sha256(strict_json.canonical([call.name, call.arguments])).hexdigest()[:32]
        self._made[digest] += 1
        return f"{self._turn.task_id}:{digest}:{self._made[digest]}"

    async def once(self, call_id: str, call: KnownCall, run: Run) -> tuple[str, str]:
        """Run it unless it was begun before; how it ended, and what the model is told."""
        store, session_id, lease = self._turn.store, self._turn.session_id, self._turn.lease
        effects, shown = store.effects, redact(strict_json.dump(call.arguments).decode())
        # Not fenced: what has happened outside is so, whoever has the session by now.
        ends = store.for_tenant(store.tenant).effects
        # Of this attempt alone: another process that comes to the same call is not a retry of ours.
        key = uuid.uuid4().hex
        asked = time.monotonic()
        try:
            started = await until_written(
                lambda: effects.start(
                    session_id, call_id, call.name, call.arguments, shown=shown, lease=lease, idempotency_key=key
                )
            )
        except LeaseLost:
            raise
        except Conflict:
            return FAILED, (
                f"error: this call of {call.name} was begun before, and its end is not known: it may have run, and "
                "was not run again"
            )
        if not started.run:
            return started.effect.status, str(started.effect.result)
        if time.monotonic() - asked > FRESH_SECONDS:  # this process slept: its session may be another's by now
            await until_written(lambda: store.leases.renew(lease, LEASE_MS))
        status, result = await run()
        await until_written(
            lambda: ends.finish(session_id, call_id, FINISHED if status == FINISHED else FAILED, result)
        )
        return status, result
