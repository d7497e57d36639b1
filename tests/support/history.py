"""The checker: is what is in the store what its writers were told?

Acknowledged ⊆ stored ⊆ attempted, each key at most once, seqs dense from 1, every acknowledged seq the right one.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.store import Event


@dataclass(slots=True)
class History:
    """What the writers noted."""

    tried: set[str] = field(default_factory=set)
    acked: dict[str, int] = field(default_factory=dict)
    opened: int = 0

    def read_journal(self, path: Path) -> None:
        """Add one writer's notes; a line torn by the kill is not a note."""
        for line in path.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                continue
            match line.split():
                case ["try", key]:
                    self.tried.add(key)
                case ["ack", key, seq]:
                    self.acked[key] = int(seq)
                case ["open"]:
                    self.opened += 1

    def unsure(self) -> list[str]:
        """Keys whose outcome nobody was told."""
        return sorted(self.tried - self.acked.keys())


def violations(history: History, events: Iterable[Event]) -> list[str]:
    """Everything that is wrong, in words."""
    events = list(events)
    keys = [event.idempotency_key or "" for event in events]
    found = [f"lost: {key}" for key in sorted(history.acked.keys() - set(keys))]
    found += [f"duplicate: {key}" for key, times in Counter(keys).items() if times > 1]
    found += [f"never attempted: {key}" for key in sorted(set(keys) - history.tried)]
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        found.append("gap in the seqs")
    by_key = {event.idempotency_key: event.seq for event in events}
    found += [
        f"moved: {key} acknowledged at {seq}, found at {by_key[key]}"
        for key, seq in history.acked.items()
        if seq and key in by_key and by_key[key] != seq
    ]
    return found
