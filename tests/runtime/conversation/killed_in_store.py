"""A conversation in a store whose process is killed before or after a chosen write of the store."""

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from tests.runtime.conversation.killed import run
from tests.runtime.conversation.places import Place

from holdfast.store.engine import Tx
from holdfast.store.machinery import Machinery


def run_until_killed(place: Place, session_id: str, journal: str, write: int, after: bool) -> None:
    """Do the script's operations; die instead of this write, or as soon as it is committed."""
    die_at_write(write, after=after)
    run(place, os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), session_id)
    os._exit(0)  # it lived


def die_at_write(write: int, *, after: bool) -> None:
    """From here on, kill this process instead of its write of this number, or as soon as that is committed."""
    real = Machinery.write
    left = [write]

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def mortal(
        self: Machinery, work: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, **options: Any
    ) -> Any:
        left[0] -= 1
        if left[0] == -1 and not after:
            die()
        last = left[0] == -1
        result = await real(self, work, locks, weight, **options)
        if last:
            die()
        return result

    Machinery.write = mortal  # type: ignore[method-assign,assignment]
