"""The facts that are told to a target and asked back, drawn from a seed so that no answer can be canned.

Seed 0 gives the classic ones. Every other seed gives each proof words of its own, which no model knows.
Ids of messages, contexts and files do not come from the seed: a target may well remember them from last time.
"""

from dataclasses import dataclass
from random import Random

FIRST = "BCDFGHJKLMNPQRSTVWXZ"
LATER = "abcdefghjkmnpqrstuvwxyz"
DIGITS = "23456789"


@dataclass(frozen=True, slots=True)
class Facts:
    """What one proof tells its target."""

    name: str
    other_name: str
    color: str


CLASSIC = Facts(name="Hongming", other_name="Marisol", color="blue")


def draw(seed: int, proof: str) -> Facts:
    """The facts of one proof under a seed: the same for the same pair, on every machine."""
    if seed == 0:
        return CLASSIC
    random = Random(f"{seed}/{proof}")
    return Facts(name=_word(random), other_name=_word(random), color=_word(random).lower())


def _word(random: Random) -> str:
    """A word such as Zq7kfa: pronounceable by nobody, found in no corpus."""
    tail = "".join(random.choice(LATER) for _ in range(3))
    return random.choice(FIRST) + random.choice(LATER) + random.choice(DIGITS) + tail
