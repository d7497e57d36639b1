"""The switch of a target: it is started, stopped and killed here, for all proofs at once that wait for it.

What was done is in the history and the evidence of each of them, as if it had been done for that one alone.
"""

import time
from collections.abc import Sequence
from typing import Literal

from holdfast.core.redact import redact
from holdfast.prove.runtime.history import Power
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.targets.target import NotReady, Target

AGAIN = "start again"


class Switch:
    """Turns one target off and on."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def ensure_on(self, stages: Sequence[Stage]) -> None:
        """Start the target if it is not running; NotReady if that fails."""
        if not self._target.running and (trouble := await self._start(stages, "start")) is not None:
            raise trouble

    async def off_and_on(self, power: Literal["stop", "kill"], stages: Sequence[Stage]) -> None:
        """End the target, politely or as a power cut would, and start it again; what went wrong is recorded."""
        if power == "stop":
            await self._stop(stages)
        else:
            await self._kill(stages)
        await self._start(stages, AGAIN)

    async def _stop(self, stages: Sequence[Stage]) -> None:
        _begin(stages, "stop", "stop", **self._by("SIGTERM"))
        began = time.monotonic()
        trouble = await self._target.stop()
        self._done(stages, Power("stop", "stop", time.monotonic() - began, trouble, began))

    async def _kill(self, stages: Sequence[Stage]) -> None:
        _begin(stages, "kill", "kill", **self._by("SIGKILL"))
        began = time.monotonic()
        await self._target.kill()
        self._done(stages, Power("kill", "kill", time.monotonic() - began, at=began))

    def _by(self, signal: str) -> dict[str, object]:
        """What ends the target: a signal of ours, or a command that does whatever it does."""
        if self._target.restarted_by:
            return {"command": self._target.restarted_by}
        return {"signal": signal, "pid": self._target.pid}

    async def _start(self, stages: Sequence[Stage], step: str) -> NotReady | None:
        _begin(stages, step, "start", target=redact(self._target.name))
        began = time.monotonic()
        trouble = None
        try:
            await self._target.start()
        except NotReady as error:
            trouble = error
        words = trouble.message if trouble else ""
        self._done(stages, Power(step, "start", time.monotonic() - began, words, began))
        return trouble

    def _done(self, stages: Sequence[Stage], power: Power) -> None:
        done = {"start": "ready", "stop": "stopped", "kill": "killed"}[power.action]
        for stage in stages:
            stage.history.add(power)
            stage.note(
                power.step,
                "trouble" if power.trouble else done,
                pid=self._target.pid,
                seconds=round(power.seconds, 4),
                trouble=power.trouble,
            )


def _begin(stages: Sequence[Stage], step: str, event: str, **details: object) -> None:
    for stage in stages:
        stage.begin(step, event, **details)
