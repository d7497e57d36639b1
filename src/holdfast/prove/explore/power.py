"""Ends a target, starts it again, or has it stand still, as an operation says; what is done is noted."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from holdfast.prove.explore.histories.operations import Kill, KillStart, Pause, Stop
from holdfast.prove.explore.sender import Note
from holdfast.prove.targets.target import PortOccupied, Target, TargetNotReady

USUAL_START_SECONDS = 0.6
"""How long a start takes, as long as none was seen."""


class TargetPower:
    """Power over one target, and how long its starts take."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._start_seconds = USUAL_START_SECONDS

    async def start(self) -> None:
        """Start the target; TargetNotReady if it does not come up."""
        began = time.monotonic()
        await self._target.start()
        self._start_seconds = time.monotonic() - began

    async def restart(self, operation: Stop | Kill | KillStart, note: Note) -> str:
        """End it and start it again; why it is not back, empty if it is. PortOccupied if another has its port."""
        target, trouble = self._target, ""
        try:
            if isinstance(operation, Stop):
                note("stop", signal="SIGTERM", pid=target.pid)
                trouble = await target.stop()
            else:
                note("kill", signal="SIGKILL", pid=target.pid)
                await target.kill()
            if isinstance(operation, KillStart):
                await self._start_and_kill(operation.percent / 100, note)
            note("start", target=target.name)
            await self.start()
            note("ready", pid=target.pid)
        except PortOccupied:
            raise
        except TargetNotReady as error:
            note("trouble", trouble=error.message)
            trouble = error.message
        # One that does not end when it is asked to was killed, and that is no more than slow.
        return "" if target.running else trouble

    async def _start_and_kill(self, part: float, note: Note) -> None:
        """Start the target and kill it when that part of a start has passed."""
        note("start", target=self._target.name)
        with suppress(TimeoutError, TargetNotReady):
            async with asyncio.timeout(part * self._start_seconds):
                await self._target.start()
        note("kill", signal="SIGKILL", pid=self._target.pid)
        await self._target.kill()

    async def pause(self, operation: Pause, note: Note) -> bool:
        """Have the target stand still for a while; whether that could be done."""
        pid = self._target.pid
        if pid is None:
            return False
        with suppress(ProcessLookupError, PermissionError):
            note("pause", signal="SIGSTOP", pid=pid)
            os.killpg(pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(operation.milliseconds / 1000)
            finally:
                os.killpg(pid, signal.SIGCONT)
            return True
        return False


def last_words(logs: list[Path]) -> str:
    """The last line that a target wrote."""
    try:
        lines = [line.strip() for line in logs[-1].read_text(errors="replace").splitlines() if line.strip()]
    except (OSError, IndexError):
        return ""
    return lines[-1][:300] if lines else ""
