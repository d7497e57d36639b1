"""Summaries of sessions in lists, on the wire."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from holdfast.gateway.wire.queries import TokenCounts
from holdfast.gateway.wire.types import Seq, Time

MOST_TITLE = 120
MOST_LAST_WORDS = 200


class LastWords(Struct):
    """What was last said or done in a session, in one line."""

    role: Literal["user", "agent", "action"]
    text: Annotated[str, Meta(max_length=MOST_LAST_WORDS)]
    seq: Seq
    timestamp: Time


class GoalCounts(Struct):
    """How many goals there are, and how many of them are open; no more than 1,000 are counted."""

    open: int
    total: int


class SummaryView(Struct, rename="camel"):
    """What a list says of a session: its title is its metadata's, or else the first that its user said.

    `keys` are the session keys that route to it now, 20 of them at most; effects and tasks are counted up to 1,000.
    """

    title: Annotated[str, Meta(max_length=MOST_TITLE)] | None
    keys: list[str]
    last_words: LastWords | None
    tokens: TokenCounts
    goals: GoalCounts
    unresolved_effects: int
    waiting_tasks: int
