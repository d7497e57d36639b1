"""A proof's timeline: its steps in order, each with what was sent and what came, whole where one looks closer.

What is too much for a page (thousands of events, answers of megabytes) is cut, and the page says where it all is.
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from holdfast.core import strict_json
from holdfast.prove.report import event_lines
from holdfast.prove.report.markup import Markup, join, tag
from holdfast.prove.report.run_record import Event, Step, moment, text

T = TypeVar("T")

MAX_STEPS = 60
MAX_EVENTS_OF_STEP = 12
MAX_BODY = 4_000
MARKS = {
    "request": "→",
    "answer": "←",
    "news": "←",
    "fault": "✕",
    "trouble": "✕",
    "kill": "✕",
    "stop": "■",
    "pause": "‖",
    "start": "▶",
    "ready": "▶",
}
"""What stands before a line; everything else has a dot."""
LOUD = frozenset({"kill", "killed", "stop", "stopped", "pause", "resumed", "start", "ready", "trouble", "fault"})


def timeline(steps: Sequence[Step], *, opened: bool) -> Markup:
    """The steps as a list that can be opened; empty if there are none."""
    if not steps:
        return Markup("")
    shown, left = _ends(steps, MAX_STEPS)
    items = [_step(step) for step in shown]
    if left:
        items.insert(len(items) // 2, tag("li", f"… {left} more steps are in events.jsonl", class_="left"))
    events = sum(len(step.events) for step in steps)
    return tag(
        "details",
        tag("summary", f"Timeline: {_number(len(steps), 'step')}, {_number(events, 'event')}"),
        tag("ol", *items, class_="timeline"),
        class_="steps",
        open=opened,
    )


def _step(step: Step) -> Markup:
    lines = [
        tag("p", tag("span", MARKS.get(kind, "·"), class_="mark", aria_hidden="true"), " ", line, class_=_class(kind))
        for kind, line in event_lines.of_step(step)
    ]
    shown, left = _ends(step.events, MAX_EVENTS_OF_STEP)
    whole = [_event(event) for event in shown]
    if left:
        whole.insert(len(whole) // 2, tag("p", f"… {left} more events are in events.jsonl", class_="left"))
    head = join(tag("time", f"{step.at:.2f} s"), tag("b", step.name or "run"))
    return tag("li", tag("div", head, class_="at"), *lines, tag("details", tag("summary", "in full"), *whole))


def _event(event: Event) -> Markup:
    said = event_lines.details(event)
    body = said.pop("body", None)
    facts = ", ".join(f"{name} {text(value)}" for name, value in said.items())
    head = tag("h4", f"{moment(event):.4f} s  {text(event.get('event'))}")
    pieces = [head, tag("p", _bounded(facts))] if facts else [head]
    return join(*pieces, tag("pre", _bounded(_pretty(body)))) if body is not None else join(*pieces)


def _pretty(body: object) -> str:
    return body if isinstance(body, str) else msgspec.json.format(strict_json.encode(body), indent=2).decode()


def _bounded(shown: str) -> str:
    if len(shown) <= MAX_BODY:
        return shown
    return f"{shown[:MAX_BODY]}\n… {len(shown) - MAX_BODY:,} more characters are in events.jsonl"


def _ends(items: Sequence[T], most: int) -> tuple[list[T], int]:
    """The first and last of too many, and how many that leaves out."""
    if len(items) <= most:
        return list(items), 0
    half = most // 2
    return [*items[:half], *items[-half:]], len(items) - 2 * half


def _class(kind: str) -> str:
    return "line loud" if kind in LOUD else f"line {kind}" if kind in {"request", "answer"} else "line"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
