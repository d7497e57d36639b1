"""A gateway that acknowledges a write before it is committed."""

import time
from collections import deque

from holdfast.cli import main
from holdfast.store.lanes.group import QueuedWrite
from holdfast.store.lanes.lane import Lane

WHILE_IT_COULD_DIE = 0.1


def acknowledge_and_commit(lane: Lane, batch: list[QueuedWrite], pending: deque[QueuedWrite]) -> None:
    """Run the writes, answer, wait, and only then commit."""
    tx = lane._writer.begin([name for write in batch for name in write.locks], cautious=True, makes_room=False)
    for write in batch:
        lane._groups.attempt(tx, write)
    lane._settle(batch)
    time.sleep(WHILE_IT_COULD_DIE)
    lane._writer.commit()


if __name__ == "__main__":
    Lane._process = acknowledge_and_commit  # type: ignore[method-assign,assignment]
    main()
