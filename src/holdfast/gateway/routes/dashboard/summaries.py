"""Summaries of sessions: what a list says of each beside its row."""

from dataclasses import astuple
from typing import Any

from holdfast.core import Session
from holdfast.core.clock import to_iso
from holdfast.gateway.routes.dashboard.words import one_line, text_of, words_in
from holdfast.gateway.wire.queries import TokenCounts
from holdfast.gateway.wire.summaries import MOST_LAST_WORDS, MOST_TITLE, GoalCounts, LastWords, SummaryView
from holdfast.store import SessionSummary


def summary_view(session: Session, found: SessionSummary) -> SummaryView:
    """The summary as clients see it."""
    return SummaryView(
        _title(session, found),
        found.keys,
        _last_words(found),
        TokenCounts(*astuple(found.usage)),
        GoalCounts(found.open_goals, found.goals),
        found.unresolved_effects,
        found.waiting_tasks,
    )


def _title(session: Session, found: SessionSummary) -> str | None:
    given = session.metadata.get("title")
    if isinstance(given, str) and given.strip():
        return one_line(given, MOST_TITLE)
    for glance in found.first_messages:
        said = words_in(glance.type, glance.payload)
        if said is not None and said.role == "user":
            return one_line(said.text, MOST_TITLE)
    return one_line(asked_first(session.initial), MOST_TITLE) or None


def asked_first(initial: Any) -> str:
    """What a session was begun with, in words: its input, if it has one."""
    value = initial.get("input", initial) if isinstance(initial, dict) else initial
    return text_of(value)


def _last_words(found: SessionSummary) -> LastWords | None:
    for glance in found.newest:
        said = words_in(glance.type, glance.payload)
        if said is not None:
            text = one_line(said.text, MOST_LAST_WORDS)
            return LastWords(said.role, text, glance.seq, to_iso(glance.created_at))
    return None
