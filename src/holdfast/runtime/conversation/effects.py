"""The effects of tools as entries of a conversation: what is recorded before and after each, and what a crash leaves.

The rules are the store's: an effect happens once, and one without an end is shown and never run again by itself.
"""

import hashlib
from dataclasses import replace
from typing import Any

from holdfast.core import strict_json
from holdfast.core.clock import SystemClock
from holdfast.core.errors import Conflict, EffectUnresolved, NotFound
from holdfast.core.ids import check_name
from holdfast.core.statuses import EFFECT_ENDS, STARTED, one_of
from holdfast.runtime.conversation.records import EffectRun, ToolEffect

Effects = list[ToolEffect]

MAX_SHOWN = 4_096
MOST_ENDED = 64
"""How many effects that have ended stay in the conversation; the older ones are in its history."""


def started(
    effects: Effects, session_id: str, call_id: str, tool: str, arguments: Any, shown: str
) -> tuple[EffectRun, Effects]:
    """The effect of a call that is about to run, and the entries with it.

    One that has ended is not to be run. EffectUnresolved if it was started and has not ended, Conflict if the call was
    another one.
    """
    check_name(call_id, "a call id")
    digest = hashlib.sha256(strict_json.canonical(arguments)).hexdigest()
    there = next((effect for effect in effects if effect.call_id == call_id), None)
    if there is None:
        new = ToolEffect(
            call_id, check_name(tool, "a tool's name"), digest, STARTED, SystemClock().now(), shown=shown[:MAX_SHOWN]
        )
        return EffectRun(new, run=True), [*effects, new]
    if (there.tool, there.digest) != (tool, digest):
        raise Conflict(f"call {call_id!r} was another tool, or had other arguments", call_id=call_id)
    if there.status == STARTED:
        raise EffectUnresolved(
            f"{there.tool} was started before under {call_id!r}, and its end is not known",
            session_id=session_id,
            call_id=call_id,
            tool=there.tool,
            started_at=there.started_at,
        )
    return EffectRun(there, run=False), effects


def finished(effects: Effects, call_id: str, status: str, result: Any) -> tuple[ToolEffect, Effects]:
    """The effect with its end, and the entries with it; the same end again changes nothing, another is a Conflict."""
    end = one_of(EFFECT_ENDS, status, f"an effect cannot end as {status!r:.80}")
    kept = strict_json.plain(result)
    there = next((effect for effect in effects if effect.call_id == call_id), None)
    if there is None:
        raise NotFound(f"no effect {call_id!r} was started", call_id=call_id)
    if there.status != STARTED:
        if (there.status, there.result) != (end, kept):
            raise Conflict(f"effect {call_id!r} has ended before, otherwise", status=there.status)
        return there, effects
    ended = replace(there, status=end, finished_at=SystemClock().now(), result=kept)
    return ended, [ended if effect is there else effect for effect in effects]


def unresolved(effects: Effects) -> Effects:
    """Those that were started and have not ended."""
    return [effect for effect in effects if effect.status == STARTED]


def overdue(effects: Effects) -> Effects:
    """Those that have ended so long ago that they need not stay."""
    ended = [effect for effect in effects if effect.status != STARTED]
    return ended[: max(0, len(ended) - MOST_ENDED)]
