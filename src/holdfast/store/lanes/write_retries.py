"""What becomes of writes whose group was taken back, or whose connection was lost: each runs again, alone.

Event ids make a write that had been committed a replay. A write that loses its connection alone is suspicious: it
waits until the others have had their turn, and is given up after a few tries, so that nobody waits long for it. If
this process stood still in the middle of a group, others have gone on meanwhile, and the group is not run again.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence

from holdfast.core.errors import HoldfastError, OutcomeUnknown, StoreUnavailable
from holdfast.core.retry import Backoff
from holdfast.store.lanes.group import ConnectionLost, GroupFreed, Groups, QueuedWrite

RECONNECT_SECONDS = 10.0
RECONNECTS = Backoff(0.05, 1.0)
MAX_LOSSES = 3
"""How often a write may lose its connection alone."""

STOOD_STILL = "this process stood still in the middle of the write, and others could not wait for it"


class WriteRetries:
    """Runs writes again for one lane; `settle` answers those that have come to their end."""

    def __init__(
        self, groups: Groups, settle: Callable[[Sequence[QueuedWrite]], None], is_closing: Callable[[], bool]
    ) -> None:
        self.suspects: deque[QueuedWrite] = deque()
        self._groups = groups
        self._settle = settle
        self._is_closing = is_closing

    def run_each(self, batch: Sequence[QueuedWrite]) -> None:
        """Run the writes one by one and answer them, but for those that lost their connection."""
        for index, write in enumerate(batch):
            lost = self._run_alone(write)
            if lost is not None and not self._reconnect(lost, batch[index + 1 :]):
                return

    def after_loss(self, batch: Sequence[QueuedWrite], lost: ConnectionLost) -> None:
        """Reconnect and run the writes one by one; answer them all if the database stays away."""
        if not self._reconnect(lost, batch):
            return
        if lost.frozen:
            for write in batch:
                write.fail(StoreUnavailable(STOOD_STILL))
            self._settle(batch)
        else:
            self.run_each(batch)

    def try_suspect(self) -> None:
        """Let one suspicious write have its turn."""
        if self.suspects:
            self.run_each([self.suspects.popleft()])

    def _run_alone(self, write: QueuedWrite) -> ConnectionLost | None:
        """Run one write and answer it; what it lost its connection to, if that is what happened."""
        groups, loss = self._groups, None
        if groups.failure is not None:
            text = f"the store failed while this was being written: {groups.failure.message}"
            write.fail(OutcomeUnknown(text))
        else:
            write.error = None
            try:
                groups.commit([write], cautious=True)
            except ConnectionLost as lost:
                loss = lost
                write.losses += 1
                if write.losses < MAX_LOSSES and not lost.frozen:
                    self.suspects.append(write)
                    return loss
                text = f"the connection was lost each time that this was written: {lost}"
                write.fail(StoreUnavailable(STOOD_STILL if lost.frozen else text))
            except GroupFreed as freed:
                write.fail(groups.writer.explain(freed.error))
            except HoldfastError as refusal:
                groups.note_failure(refusal)
                write.fail(refusal)
            except groups.writer.errors as error:
                write.fail(groups.writer.explain(error))
        self._settle([write])
        return loss

    def _reconnect(self, lost: ConnectionLost, waiting: Sequence[QueuedWrite]) -> bool:
        """Replace the connection; if the database stays away, all who wait are told so."""
        deadline = time.monotonic() + RECONNECT_SECONDS
        tries = 1
        writer, error = self._groups.writer, lost.error
        failures: tuple[type[Exception], ...] = (HoldfastError, *writer.errors)  # also a server that is not good enough
        while not self._is_closing() or RECONNECTS.pause(tries) < 0.5:
            try:
                writer.reconnect()
            except failures as failure:
                error = failure
                if time.monotonic() > deadline:
                    break
                time.sleep(RECONNECTS.pause(tries))
                tries += 1
            else:
                return True
        left = [*waiting, *self.suspects]
        self.suspects.clear()
        for write in left:
            write.fail(StoreUnavailable(f"the database went away and did not come back: {error}"))
        self._settle(left)
        return False
