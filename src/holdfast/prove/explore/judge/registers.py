"""The model of a fact: a register that is written by what was told and read by what was asked.

A write is certain once it was acknowledged. One that was cut may have happened or not: until it is settled every read
may see it or not, and from then on all reads must agree. Writes that overlap may have happened in either order, but
in one. A read sees the newest write before it, or one that was under way meanwhile. An answer may tell more than it
was asked for: older values beside the newest are no mistake.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Literal

from holdfast.prove.explore.histories.values import Value

MAX_EXPLANATIONS = 5_000
WITHDRAWN = re.compile(
    r"\b(?:no|not|cannot|none|never|nothing|forg[eo]t\w*|t[ao]ken? back|took \w+ back|take \w+ back|withdr[ae]w\w*"
    r"|retract\w*|revok\w*|delet\w*|eras\w*|clear(?:ed|ing)|remov\w*|disregard\w*|discard\w*|dropp\w*|unknown"
    r"|any ?more|previously|formerly|used to|n['’]t)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of an answer that knows that something was taken back."""

Trouble = Literal["forgotten", "stale", "withdrawn", "unsettled"]


@dataclass(frozen=True, slots=True)
class Write:
    """A value that was told, or None for one that was taken back; in effect at `settled` at the latest, if at all."""

    value: Value | None
    began: float
    settled: float
    certain: bool
    step: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """An answer that tells what the register holds."""

    answer: str
    began: float
    ended: float
    step: int = 0


@dataclass(frozen=True, slots=True)
class WrongRead:
    """A read that no explanation allows, what is wrong with it, and the writes that it should have seen one of."""

    read: Read
    trouble: Trouble
    expected: tuple[Write, ...]


def wrong_read(writes: Sequence[Write], reads: Sequence[Read]) -> WrongRead | None:
    """The first read that cannot be explained, alone or together with those before it; None if all can be."""
    explanations = list(islice(_explanations(writes), MAX_EXPLANATIONS + 1))
    left = explanations
    for read in sorted(reads, key=lambda read: read.ended):
        if not any(_allows(order, writes, read) for order in explanations):
            return _wrong_alone(explanations, writes, read)
        left = [order for order in left if _allows(order, writes, read)]
        if not left and len(explanations) <= MAX_EXPLANATIONS:
            return WrongRead(read, "unsettled", ())
    return None


def _explanations(writes: Sequence[Write]) -> Iterator[tuple[Write, ...]]:
    """Every way in which things may have happened: which of the uncertain writes, and in which order."""
    uncertain = [write for write in writes if not write.certain]
    for happened in product((True, False), repeat=len(uncertain)):
        absent = {id(write) for write, yes in zip(uncertain, happened, strict=True) if not yes}
        yield from _orders([write for write in writes if id(write) not in absent])


def _orders(writes: list[Write]) -> Iterator[tuple[Write, ...]]:
    """The orders in which nothing comes after what began when it was over."""
    if not writes:
        yield ()
    for number, first in enumerate(writes):
        others = writes[:number] + writes[number + 1 :]
        if all(other.settled > first.began for other in others):
            for rest in _orders(others):
                yield (first, *rest)


def _allows(order: tuple[Write, ...], writes: Sequence[Write], read: Read) -> bool:
    """Whether a read can be as it is if that is what happened."""
    candidates = _candidates(order, writes, read)
    told = [write.value for write in candidates if write is not None]
    absent = [
        write.value
        for write in writes
        if write not in order and not write.certain and write.settled <= read.began and write.value not in told
    ]
    there = {write.value for write in order}
    if any(value and value not in there and value.hinted_in(read.answer) for value in absent):
        return False
    return any(_fits(write, order, read) for write in candidates)


def _candidates(order: tuple[Write, ...], writes: Sequence[Write], read: Read) -> list[Write | None]:
    """The writes that a read may see the value of; None is that there is no value yet."""
    before = [place for place, write in enumerate(order) if write.settled <= read.began]
    newest = before[-1] if before else -1
    during = [write for write in order[newest + 1 :] if write.began < read.ended]
    # What is not settled yet may be seen, whatever is found to have become of it later.
    open_yet = [w for w in writes if w not in order and w.began < read.ended and w.settled > read.began]
    return [order[newest] if before else None, *during, *open_yet]


def _fits(write: Write | None, order: tuple[Write, ...], read: Read) -> bool:
    if write is None:
        return True
    if write.value is not None:
        return write.value.known_in(read.answer)
    tells = any(other.value is not None and other.value.known_in(read.answer) for other in order)
    return not tells or WITHDRAWN.search(read.answer) is not None


def _wrong_alone(explanations: Sequence[tuple[Write, ...]], writes: Sequence[Write], read: Read) -> WrongRead:
    expected = tuple(dict.fromkeys(w for order in explanations for w in _candidates(order, writes, read) if w))
    values = [write.value for write in writes if write.value is not None and write.began < read.ended]
    if not any(value.known_in(read.answer) for value in values):
        return WrongRead(read, "forgotten", expected)
    if all(write.value is None for write in expected):
        return WrongRead(read, "withdrawn", expected)
    return WrongRead(read, "stale", expected)


NEVER = math.inf
"""When something is settled of which nothing more was seen."""
