"""Other processes that write a conversation: what a test starts, and what they say."""

import os
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.runtime.conversation.places import Place, user
from tests.support.processes import spawn

from holdfast.core import HoldfastError


class OtherWriter:
    """A process that has written a conversation and lives until it is told to end, or is killed."""

    def __init__(self, place: Place, session_id: str, text: str, *, release: bool = False) -> None:
        self._said = place.root / f"said-{text}"
        self.process: ForkServerProcess = spawn(_write, place, session_id, text, str(self._said), release)

    def said(self) -> str:
        """What it says of its write."""
        deadline = time.monotonic() + 60
        while not self._said.exists():
            assert self.process.is_alive(), "the other process died"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        return self._said.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def __enter__(self) -> "OtherWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def tell(path: Path, words: str) -> None:
    """Say something to whoever waits for the file."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(words)
    part.rename(path)


def written(place: Place, session_id: str, text: str, *, release: bool = False) -> str:
    """Append a message as whoever loads the conversation now; `written`, or the error and its words."""
    session = place.load(session_id)
    assert session is not None
    try:
        session.append(user(text))
    except HoldfastError as error:
        return f"{error.code}: {error.message}"
    if release:
        session.release()
    else:
        HELD.append(session)
    return "written"


HELD: list[object] = []
"""What a process goes on holding."""


def _write(place: Place, session_id: str, text: str, said: str, release: bool) -> None:
    tell(Path(said), f"{written(place, session_id, text, release=release)} by {os.getpid()}")
    time.sleep(600)
