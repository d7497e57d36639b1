"""What a run left in its folder, read back: the summary, and the events of each proof, grouped by step.

Reports are made from this and nothing else, so they can be made again from the folder alone.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact_value
from holdfast.prove.wire import replies

MAX_EVENTS = 20_000
MAX_BYTES = 64 * 1024 * 1024
Event = dict[str, Any]
Document = dict[str, Any]


@dataclass(slots=True)
class Step:
    """What happened under one step's name in one proof, in order."""

    name: str
    events: list[Event] = field(default_factory=list)

    @property
    def at(self) -> float:
        """When it began, in seconds since the run did."""
        return moment(self.events[0])


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run's folder. `unread` counts the events that were too many or not whole."""

    summary: Document
    events: list[Event]
    unread: int

    def steps(self) -> dict[str, list[Step]]:
        """The steps of each proof, in the order in which they began; verdicts are no steps."""
        found: dict[str, dict[str, Step]] = defaultdict(dict)
        for event in self.events:
            if event.get("event") != "verdict":
                name = text(event.get("step"))
                found[text(event.get("proof"))].setdefault(name, Step(name)).events.append(event)
        return {proof: list(steps.values()) for proof, steps in found.items()}


def read(folder: Path, most_events: int = MAX_EVENTS, most_bytes: int = MAX_BYTES) -> RunRecord:
    """What is in the folder, of its events so many; InvalidInput if no run came to its end there."""
    try:
        summary = strict_json.parse((folder / "summary.json").read_bytes())
    except FileNotFoundError:
        raise InvalidInput(
            f"there is no summary of a run in {folder}",
            hint="a run that was killed leaves events.jsonl only; name the folder of another, or run `holdfast prove`",
        ) from None
    if not isinstance(summary, dict):
        raise InvalidInput(f"{folder / 'summary.json'} is not the summary of a run")
    events, unread = _events(folder / "events.jsonl", most_events, most_bytes)
    return RunRecord(redact_value(summary), events, unread)


def outcomes(summary: Document) -> list[Document]:
    """The prerequisites and the proofs of a run, in order."""
    return [*dicts(summary.get("prerequisites")), *dicts(summary.get("proofs"))]


def counts(summary: Document) -> str:
    """How many proofs have which verdict, and how many were left out."""
    verdicts = [text(proof.get("verdict")) for proof in dicts(summary.get("proofs"))]
    told = [f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)] or ["No proof was run"]
    left_out = sum(len(names) for names in left_out_by_reason(summary).values())
    return ", ".join([*told, f"{left_out} left out"] if left_out else told)


def left_out_by_reason(summary: Document) -> dict[str, list[str]]:
    """The proofs that were left out, those with one reason together."""
    left_out = summary.get("left_out")
    found: dict[str, list[str]] = defaultdict(list)
    for name, reason in left_out.items() if isinstance(left_out, dict) else ():
        found[text(reason)].append(name)
    return found


def seeds(summary: Document) -> str:
    """The seed of the run; the first and the last where there were several."""
    found = [text(run.get("seed")) for run in dicts(summary.get("runs"))]
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else text(summary.get("seed"))


def dicts(value: object) -> list[Document]:
    """The objects in a JSON list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """A JSON value as one would say it: texts as they are, nothing for null, the rest as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else strict_json.encode(value).decode()


def moment(event: Event) -> float:
    """When the event was, in seconds since the run began."""
    at = event.get("at")
    return float(at) if isinstance(at, int | float) else 0.0


def _events(path: Path, most_events: int, most_bytes: int) -> tuple[list[Event], int]:
    """The events that are whole and not too many, and how many are not."""
    events: list[Event] = []
    unread = taken = 0
    with path.open("rb") if path.exists() else BytesIO() as lines:
        for line in lines:
            taken += len(line)
            event = _event(line) if taken <= most_bytes and len(events) < most_events else None
            if event is None:
                unread += 1
            else:
                events.append(event)
    return events, unread


def _event(line: bytes) -> Event | None:
    try:
        event = redact_value(replies.parse(line))
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
