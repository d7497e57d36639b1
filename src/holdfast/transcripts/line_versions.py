"""Lines go into a session that is there already: each once, also if its file was written anew meanwhile.

A line whose id the session has for another line, because a file was rewritten in its place, gets the next version of
that id. So nothing that was kept is lost, nothing that is new is left out, and reading again adds nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from holdfast.core import HoldfastError, NewEvent
from holdfast.core.errors import IdempotencyConflict
from holdfast.core.problem import problem
from holdfast.transcripts.kept_lines import version_id

MOST_VERSIONS = 1_000
BATCH_EVENTS = 500
BATCH_BYTES = 4 * 1024 * 1024
"""A batch has no more events, and no more bytes than these and one event's."""


class EventLog(Protocol):
    """Where events are appended."""

    async def append(self, session_id: str, events: Sequence[NewEvent]) -> int:
        """Append events in their order, each once by its id; how many are new."""
        ...


async def append_lines(
    destination: EventLog,
    session_id: str,
    events: Sequence[NewEvent],
    *,
    rewritten: bool = True,
    versioned: Callable[[NewEvent], None] | None = None,
) -> int:
    """Append lines in their order; how many are new. Without `rewritten`, an id of another line is a conflict.

    `versioned` is told of each new line that got a version of its id.
    """
    try:
        return await destination.append(session_id, events)
    except HoldfastError as error:
        if not rewritten or not _is_other_line(error):
            raise
    count = 0
    for event in events:
        version = await _append_version(destination, session_id, event)
        count += version > 0
        if version > 1 and versioned is not None:
            versioned(event)
    return count


def next_batch(events: Iterator[NewEvent]) -> list[NewEvent]:
    """The next events that are appended together; empty at the end."""
    batch: list[NewEvent] = []
    size = 0
    for event in events:
        batch.append(event)
        size += len(event.payload)
        if len(batch) == BATCH_EVENTS or size > BATCH_BYTES:
            break
    return batch


async def _append_version(destination: EventLog, session_id: str, event: NewEvent) -> int:
    """Append a line under the first version of its id that is free, or its own; which that was, 0 if it is there."""
    number = 1
    while True:
        named = event if number == 1 else replace(event, event_id=version_id(str(event.event_id), number))
        try:
            return number if await destination.append(session_id, [named]) else 0
        except HoldfastError as error:
            if not _is_other_line(error) or number == MOST_VERSIONS:
                raise
        number += 1


def _is_other_line(error: HoldfastError) -> bool:
    return bool(problem(error)["code"] == IdempotencyConflict.code)
