"""The switch of a target: it is started, stopped, killed and paused here, for all proofs at once that wait for it.

What was done is in the history and the evidence of each of them, as if it had been done for that one alone.
"""

import asyncio
import time
from collections.abc import Sequence

from holdfast.core.redact import redact
from holdfast.prove.runtime.history import Power
from holdfast.prove.runtime.proof import Power as PowerName
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.targets.target import PausableTarget, Target, TargetNotReady, UpgradableTarget
from holdfast.prove.wire.client import CARD_PATHS, AccessRefused, TransportFault, Wire

AGAIN = "start again"
SILENCE_SECONDS = 0.5
"""So long a target that stands still is listened to."""


class Switch:
    """Turns one target off and on."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def ensure_on(self, stages: Sequence[Stage]) -> None:
        """Start the target if it is not running; NotReady if that fails."""
        if not self._target.running and (trouble := await self._start(stages, "start")) is not None:
            raise trouble

    async def turn(self, power: PowerName, stages: Sequence[Stage]) -> bool:
        """Do to the target what is asked for, and have it run again; whether it does.

        A stop is polite, a kill is as a power cut would be, a pause is longer than any lease; an upgrade is a stop, and
        a start as the next version. What went wrong is recorded; of a target that did not stand still, too.
        """
        if power == "pause":
            await self._pause(stages)
            return True
        if power == "kill":
            await self._kill(stages)
        else:
            await self._stop(stages)
        if power == "upgrade":
            assert isinstance(self._target, UpgradableTarget)
            self._target.upgrade()
        return await self._start(stages, AGAIN) is None

    async def _pause(self, stages: Sequence[Stage]) -> None:
        assert isinstance(self._target, PausableTarget)
        _begin(stages, "pause", "pause", signal="SIGSTOP", pid=self._target.pid)
        began = time.monotonic()
        self._target.pause()
        try:
            trouble = "it answered while it was to stand still" if await self._answers() else ""
            await asyncio.sleep(max(stage.bounds.pause for stage in stages))
        finally:
            self._target.resume()
        self._done(stages, Power("pause", "pause", time.monotonic() - began, trouble, began))

    async def _answers(self) -> bool:
        """Whether anything comes from the target, be it a refusal."""
        async with Wire(self._target.url) as wire:
            try:
                await wire.get(CARD_PATHS[0], within=SILENCE_SECONDS)
            except AccessRefused:
                return True
            except TransportFault:
                return False
        return True

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

    async def _start(self, stages: Sequence[Stage], step: str) -> TargetNotReady | None:
        _begin(stages, step, "start", target=redact(self._target.name))
        began = time.monotonic()
        trouble = None
        try:
            await self._target.start()
        except TargetNotReady as error:
            trouble = error
        words = trouble.message if trouble else ""
        self._done(stages, Power(step, "start", time.monotonic() - began, words, began))
        return trouble

    def _done(self, stages: Sequence[Stage], power: Power) -> None:
        done = {"start": "ready", "stop": "stopped", "kill": "killed", "pause": "resumed"}[power.action]
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
