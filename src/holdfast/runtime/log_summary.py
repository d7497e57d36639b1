"""A summary of any session's log, made as the agent's is: of its messages, and of what programs reported to it.

The log is read a stretch at a time, and the summary of what came before goes into that of the next, so memory stays
bounded however long the log is.
"""

from typing import Any

import msgspec

from holdfast.a2a import PastMessage, Role, TextPart
from holdfast.a2a.turns.conversation import past_message
from holdfast.core import Event, types
from holdfast.runtime.compaction import summarize
from holdfast.store import Store

MAX_DETAILS = 400


async def summary_of(store: Store, session_id: str, first_seq: int, last_seq: int) -> dict[str, Any]:
    """The summary of the events from `first_seq` to `last_seq`; it goes on from the newest compaction's, if any."""
    document: Any = None
    after = max(first_seq, 1) - 1
    if not after:
        compaction = await store.checkpoints.newest_compaction(session_id)
        if compaction is not None and compaction.last_seq <= last_seq:
            document, after = compaction.document, compaction.last_seq
    while True:
        part = await store.stretch(session_id, after=after, before=last_seq + 1)
        document = msgspec.to_builtins(summarize(document, [said for event in part.events for said in _said(event)]))
        if part.ended or not part.events:
            return dict(document)
        after = part.events[-1].seq


def _said(event: Event) -> list[PastMessage]:
    """What an event says: a message, or an action or a response of a program as if its agent had said it."""
    if event.erased is not None:
        return []
    if event.type == types.MESSAGE:
        message = past_message(event)
        return [] if message is None else [message]
    if event.type.startswith(types.PREFIX) and event.type != types.RESPONSE:
        return []
    name = "response" if event.type == types.RESPONSE else event.type
    words = f"{name}: {event.payload[:MAX_DETAILS].decode(errors='ignore')}"
    return [PastMessage(Role.AGENT, words, (TextPart(words),))]
