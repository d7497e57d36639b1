"""A target that already runs somewhere and is not ours to start or kill."""

from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from holdfast.core.errors import InvalidInput
from holdfast.prove.targets.target import NotReady


def check_url(url: str) -> None:
    """InvalidInput unless the URL is one that can be asked."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidInput(f"{url!r} is not an http or https URL", hint="for example --url http://localhost:9000")


class UrlTarget:
    """A running service; proofs that would kill it are not for it."""

    restartable = False
    running = True
    pid = None
    command_line = ""

    def __init__(self, url: str, workspace: Path | None) -> None:
        self.name = url
        self.url = url
        self.workspace = workspace

    def logs(self) -> list[Path]:
        """None that we can see."""
        return []

    async def start(self) -> None:
        """It runs already; whether it can be reached is the first prerequisite."""

    async def ended(self, within: float) -> bool:
        """Not as far as we can tell."""
        return False

    async def stop(self) -> str:
        """Never: no proof that restarts its target is run on this one."""
        self._refuse()

    async def kill(self) -> None:
        """Never: no proof that restarts its target is run on this one."""
        self._refuse()

    def abandon(self) -> None:
        """It was running before us and runs on."""

    def _refuse(self) -> NoReturn:
        raise NotReady(f"{self.url} is not ours to stop", hint="use --command to let the proof start the target")
