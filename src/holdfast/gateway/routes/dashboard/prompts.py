"""Prompts: what the user said in a session, to jump from one to the next however much lies between them.

One look goes through a bounded number of messages, of bounded size: the cursor leads on from there.
"""

from holdfast.core import types
from holdfast.core.clock import to_iso
from holdfast.gateway.routes.dashboard.words import one_line, words_in
from holdfast.gateway.wire.events import MOST_PROMPT, Prompt, PromptWindow
from holdfast.gateway.wire.sessions import WindowCursor
from holdfast.gateway.wire.types import MAX_SEQ
from holdfast.store import PAGE_BYTES, EventGlance, SessionSnapshot

STEP = 100
MOST_SEEN = 2_000
"""Messages that one look goes through."""


def newest_prompts(session: SessionSnapshot, limit: int, before: int | None = None) -> PromptWindow:
    """The newest prompts below `before`: `limit` of them, or fewer."""
    high = min(session.head_seq + 1, MAX_SEQ if before is None else before)
    prompts, place, ended = _look(session, limit, 0, high, newest=True)
    return PromptWindow(prompts[::-1], WindowCursor(None if ended or place <= 1 else place, max(high - 1, 0)))


def prompts_after(session: SessionSnapshot, limit: int, after: int, before: int | None = None) -> PromptWindow:
    """The oldest prompts above `after`, and below `before`: `limit` of them, or fewer."""
    high = min(session.head_seq + 1, MAX_SEQ if before is None else before)
    prompts, place, ended = _look(session, limit, after, high, newest=False)
    older = min(after + 1, MAX_SEQ) if after else None
    return PromptWindow(prompts, WindowCursor(older, max(high - 1, after) if ended else place))


def _look(session: SessionSnapshot, limit: int, low: int, high: int, *, newest: bool) -> tuple[list[Prompt], int, bool]:
    """Prompts in the order in which they are looked for, the seq of the last message seen, and whether it was the last
    of all."""
    prompts: list[Prompt] = []
    seen, left, place = 0, PAGE_BYTES, high if newest else low
    while seen < MOST_SEEN and left > 0:
        span = (low, place) if newest else (place, high)
        page = session.glances(types.MESSAGE, *span, STEP, newest=newest, most_bytes=left)
        if not page:
            return prompts, place, True
        for glance in page:
            place = glance.seq
            prompts += _prompt(glance)
            if len(prompts) == limit:
                return prompts, place, False
        seen += len(page)
        left -= sum(len(glance.payload or b"") for glance in page)
    return prompts, place, False


def _prompt(glance: EventGlance) -> list[Prompt]:
    said = words_in(glance.type, glance.payload)
    if said is None or said.role != "user":
        return []
    return [Prompt(glance.seq, one_line(said.text, MOST_PROMPT), to_iso(glance.created_at))]
