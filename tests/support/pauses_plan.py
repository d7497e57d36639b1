"""Which faults come when, to which gateway: all of it from a seed, before the first."""

import random
from typing import NamedTuple

PAUSE, KILL, STOP, BACKENDS, CUT = "pause", "kill", "stop", "backends", "cut"
WEIGHTS = {PAUSE: 35, KILL: 8, STOP: 7, BACKENDS: 20, CUT: 30}
MEAN_GAP = 0.5
SHORT, LONG = (0.05, 0.6), (4.2, 7.0)
LONG_SHARE = 0.25
"""Of the pauses: those that outlast a lease and a heartbeat."""


class Fault(NamedTuple):
    """What happens to a gateway, so many seconds after the fault before it; `seconds` is how long a pause lasts, and
    `share` how many of the database's backends are ended."""

    after: float
    kind: str
    gateway: int
    seconds: float
    share: float


def plan_of(seed: int, faults: int, gateways: int) -> list[Fault]:
    """The faults of a run: the same for the same seed."""
    chance = random.Random(f"{seed} {gateways}")
    return [_fault(chance, gateways) for _ in range(faults)]


def _fault(chance: random.Random, gateways: int) -> Fault:
    [kind] = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
    bounds = LONG if chance.random() < LONG_SHARE else SHORT
    return Fault(
        round(chance.expovariate(1 / MEAN_GAP), 3),
        kind,
        chance.randrange(gateways),
        round(chance.uniform(*bounds), 3),
        round(chance.random(), 3),
    )
