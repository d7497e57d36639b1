"""Which cases failed how often, so that one that does holds up no other and does not go on for ever."""

from collections import Counter
from collections.abc import Sequence

MOST_TRIES = 3


class FailedTries:
    """How often the work on each case failed: one that did comes after the others, so that it holds up nobody."""

    def __init__(self) -> None:
        self._away: Counter[str] = Counter()
        self._own: Counter[str] = Counter()

    def in_order(self, names: Sequence[str]) -> list[str]:
        """The names, those that did not fail so often first."""
        return sorted(names, key=lambda name: self._away[name] + self._own[name])

    def away(self, name: str) -> None:
        """Something was away: that is no reason to give up, but the next one may have better luck."""
        self._away[name] += 1

    def is_hopeless(self, name: str) -> bool:
        """Note that a case failed for itself; whether it did so often enough to be put aside."""
        self._own[name] += 1
        return self._own[name] >= MOST_TRIES
