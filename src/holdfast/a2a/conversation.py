"""The conversation so far, read from a session's log.

A turn sees every message that was committed before its own, and every message of a turn that has ended since; a
message that waits behind it belongs to a later turn. Messages stand where their turn ended, so that each answer
follows its question also when questions came faster than answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.a2a.handler import PastMessage
from holdfast.a2a.records import message_in
from holdfast.a2a.wire import Message, text_of
from holdfast.core import Event, TaskState, types
from holdfast.store import Store


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said before a turn, and the seq of the message that began it."""

    history: tuple[PastMessage, ...]
    message_seq: int


async def before(store: Store, session_id: str, task_id: str) -> Conversation:
    """The conversation as the turn of a task finds it."""
    events = await store.read(session_id, types=(types.MESSAGE, types.TASK_UPDATED))
    said = _messages(events)
    own = next(seq for seq, message in said if message.task_id == task_id)
    ends = _ends(events)

    def place(entry: tuple[int, Message]) -> tuple[int, int]:
        seq, message = entry
        return ends.get(message.task_id, seq), seq

    past = [
        (seq, message)
        for seq, message in said
        if message.task_id != task_id and (seq < own or message.task_id in ends or message.task_id is None)
    ]
    past.sort(key=place)
    history = tuple(PastMessage(message.role, text_of(message.parts), message.parts) for _, message in past)
    return Conversation(history, own)


def _messages(events: Sequence[Event]) -> list[tuple[int, Message]]:
    found = ((event.seq, message_in(event)) for event in events if event.type == types.MESSAGE)
    return [(seq, message) for seq, message in found if message is not None]


def _ends(events: Sequence[Event]) -> dict[str | None, int]:
    """The seq at which each task ended, of those that did."""
    changes = ((event.seq, event.value()) for event in events if event.type == types.TASK_UPDATED)
    return {change["taskId"]: seq for seq, change in changes if TaskState(change["state"]).terminal}
