"""Where the service and its programs run: as processes of this machine, or in containers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

GATEWAY = "gateway"
"""The name of the session service among those that run."""

Tell = Callable[[str], None]
"""Hears how far something is."""


class Surroundings(Protocol):
    """How the parts are started, killed and looked at, whatever they run in. Errors are HoldfastErrors."""

    kind: str
    """What the parts are: processes or containers."""
    url: str
    """The gateway's."""
    dashboard: str
    """Where a browser finds the dashboard."""
    token: str | None
    """What the gateway asks for, if it asks."""

    async def find_engine(self) -> str:
        """What runs the parts; InvalidInput if it is not there."""
        ...

    async def build(self, tell: Tell) -> str:
        """Have everything ready to be started; what was done."""
        ...

    async def start(self, name: str) -> None:
        """Start the gateway or a program, and wait until it answers on HTTP."""
        ...

    async def kill(self, name: str) -> None:
        """SIGKILL, to all of it."""
        ...

    def running(self, name: str) -> str:
        """How a part is known while it runs, such as by its pid; empty if it does not run."""
        ...

    def health(self, name: str) -> str:
        """The URL at which a program tells its health."""
        ...

    def data(self, name: str) -> Path:
        """A program's data folder."""
        ...

    @property
    def files(self) -> Path:
        """The folder in which the gateway keeps sessions as files."""
        ...

    def logs(self) -> dict[str, Sequence[Path]]:
        """What each part has written, oldest first."""
        ...

    async def close(self) -> None:
        """End everything that was started."""
        ...
