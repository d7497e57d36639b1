"""Looks at the layers one after the other, in bounded time. Nothing that a target does makes it fail."""

import asyncio
import time
from dataclasses import replace

from holdfast.core import HoldfastError
from holdfast.prove.runtime.layers import conversation, surface
from holdfast.prove.runtime.layers.layer import Bench, Layer, LayerLook, LayerState
from holdfast.prove.runtime.layers.trouble import EVERYWHERE, RESTART, Trouble
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.targets.target import Target
from holdfast.prove.wire.client import Wire

SECONDS = 20.0
TURNS = 9
"""As many turns are taken in all."""
LOOKS = (*surface.LOOKS, *conversation.LOOKS)
STATES = {True: "ok", False: "broken", None: "unknown"}


async def diagnose(
    stage: Stage,
    target: Target,
    wire: Wire,
    *,
    trouble: Trouble = EVERYWHERE,
    usual: float = 0.0,
    within: float = SECONDS,
) -> tuple[Layer, ...]:
    """The layers that the trouble touches, in order. One that rests on a broken one, or for which no time is left, is
    unknown.

    It takes no longer than `within`, and what the target's turns `usual`ly take.
    """
    bench = Bench(stage, target, wire, context_id=stage.new_context(), usual=usual, power=trouble.power)
    deadline = time.monotonic() + within + TURNS * usual
    found: dict[str, Layer] = {}
    for look in (look for look in LOOKS if trouble.touches(look.name)):
        seen = _blocked(look, found) or await _look(look, bench, deadline)
        seen = _agreeing(look, seen, trouble)
        layer = Layer(look.name, STATES[seen.fine], look.expected, seen.got, seen.curl)  # type: ignore[arg-type]
        found[look.name] = layer
    return tuple(found.values())


def _blocked(look: LayerLook, found: dict[str, Layer]) -> LayerState | None:
    for need in look.needs:
        if found[need].state == "broken":
            return LayerState(None, f"not looked at, because {need} is broken")
        if found[need].state == "unknown":
            return LayerState(None, found[need].got)
    return None


def _agreeing(look: LayerLook, seen: LayerState, trouble: Trouble) -> LayerState:
    """What was seen, unless a proof has just shown the opposite, or may have: then nobody knows."""
    denied = [name for name in look.denies if name in trouble.disproven]
    denied += sorted(trouble.restarted) if look.name == RESTART else []
    if seen.fine is not True or not denied:
        return seen
    return replace(seen, fine=None, got=f"{seen.got}; it works now, and {denied[0]} is disproven")


async def _look(look: LayerLook, bench: Bench, deadline: float) -> LayerState:
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            return await look.see(bench)
    except TimeoutError:
        return LayerState(None, "the time for looking was up", look.show(bench))
    except HoldfastError as error:
        return LayerState(False, error.message, look.show(bench))
    except Exception as error:
        return LayerState(None, f"what was seen makes no sense: {type(error).__name__}: {error}", look.show(bench))
