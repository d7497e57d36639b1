"""What the proof needs of a target: a URL, and a way to start, stop and kill it where there is one.

Any object that fulfils `Target` can be put to the proof: `prove(target=…)` takes one of your own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from holdfast.core import HoldfastError


class TargetNotReady(HoldfastError):
    """The target could not be started, or not brought to an end."""

    code: ClassVar[str] = "target_not_ready"
    status: ClassVar[int] = 503


class PortOccupied(TargetNotReady):
    """Another process holds the target's port, so nothing can be said of the target."""

    code: ClassVar[str] = "port_occupied"


class ProbeFailed(HoldfastError):
    """There is a way to look into the target's store, and it did not work."""

    code: ClassVar[str] = "probe_failed"
    status: ClassVar[int] = 503


class Target(Protocol):
    """An agent runtime under proof."""

    @property
    def name(self) -> str:
        """What to call it in a report."""
        ...

    @property
    def command_line(self) -> str:
        """How it is started, if it is ours; else empty."""
        ...

    @property
    def url(self) -> str:
        """Where it answers; the same after every start."""
        ...

    @property
    def workspace(self) -> Path | None:
        """The folder in which its tools work, if it can be seen from here."""
        ...

    @property
    def peer_url(self) -> str | None:
        """Where it may ask a second agent, if it was told of one."""
        ...

    @property
    def restartable(self) -> bool:
        """Whether start, stop and kill can be called."""
        ...

    @property
    def restarted_by(self) -> str:
        """The user's own command for it, where stop and kill are whatever that command does; else empty."""
        ...

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended, as far as can be told."""
        ...

    @property
    def pid(self) -> int | None:
        """The process, if it is ours."""
        ...

    def logs(self) -> list[Path]:
        """Its log files, one per start, oldest first."""
        ...

    async def start(self) -> None:
        """Start it and wait until it is ready; NotReady says why it is not."""
        ...

    async def ended(self, within: float) -> bool:
        """Whether it has ended, or does so within so many seconds; one that is not ours never has."""
        ...

    async def stop(self) -> str:
        """Ask it to end (SIGTERM) and wait until it has; returns what went wrong, empty if nothing did."""
        ...

    async def kill(self) -> None:
        """End it at once (SIGKILL); nothing answers at its URL afterwards, else NotReady."""
        ...

    @property
    def probe_line(self) -> str:
        """A command line that shows what `probe` sees, with `{context}` for the context; empty if there is none."""
        ...

    async def probe(self, context_id: str) -> dict[str, Any] | None:
        """What its store shows: `sessions` and `events`, counted, and the same of one context under `context`.

        All of it is optional, and more may be there. None if there is no way to look; ProbeFailed if there is one
        and it did not work.
        """
        ...

    def abandon(self) -> None:
        """Whatever its condition, leave nothing behind; does not wait for anything but the dead."""
        ...


@runtime_checkable
class PausableTarget(Protocol):
    """A target that can be held still for a while, as a machine that swaps or a debugger does it."""

    @property
    def pid(self) -> int | None:
        """The process."""
        ...

    def pause(self) -> None:
        """Stop it where it is (SIGSTOP)."""
        ...

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        ...


@runtime_checkable
class UpgradableTarget(Protocol):
    """A target of which there is a next version, which works on the same data."""

    @property
    def next_command(self) -> str:
        """How the next version is started; empty if there is none."""
        ...

    def upgrade(self) -> None:
        """From now on, a start is one of the next version."""
        ...


@runtime_checkable
class DescribedTarget(Protocol):
    """A target of which more is known than its name; it is in the summary beside that."""

    about: Mapping[str, str]
