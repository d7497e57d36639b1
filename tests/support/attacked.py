"""A gateway with a hostile tenant: whatever that one does, another is answered, and soon; and memory has a bound."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.gateway.holders import Wanted, make_tokens
from tests.gateway.process import running
from tests.support.attacks import ATTACKS, Order, attacking, start
from tests.support.bystander import Bystander
from tests.support.memory import forget_peak, peak_memory

MB = 1024 * 1024
MOST_MEMORY = 400 * MB
SECONDS_TO_ANSWER = 5.0
LOOK_SECONDS = 0.5
SCOPES = ("write", "read")


@dataclass(slots=True)
class Outcome:
    """What became of a run."""

    seconds: float = 0.0
    answers: int = 0
    longest: float = 0.0
    peak: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.answers} answers to another tenant in {self.seconds:.0f} s, the slowest after"
            f" {self.longest:.2f} s; the gateway's memory at most {self.peak / MB:.0f} MB"
        )


def attack_for(
    folder: Path,
    seconds: float,
    *,
    seed: int,
    attacks: Sequence[str] = tuple(ATTACKS),
    patience: float = SECONDS_TO_ANSWER,
) -> Outcome:
    """Attack a gateway of our own for so long, or until something is wrong; `patience` is the other tenant's."""
    outcome = Outcome()
    data = folder / "data"
    data.mkdir()
    tokens = make_tokens(f"sqlite:///{data}/holdfast.db", {each: Wanted(SCOPES, each) for each in ("hostile", "other")})
    with running(data, "--auth", "token") as gateway:
        order = Order(gateway.url, tokens["hostile"], attacks, seconds, seed)
        other = Bystander(gateway.url, tokens["other"], patience)
        with attacking(order) as attack:
            forget_peak(gateway.process.pid)
            began = time.monotonic()
            with other.asking():
                start(attack)
                while attack.poll() is None and not other.failures and outcome.peak <= MOST_MEMORY:
                    time.sleep(LOOK_SECONDS)
                    outcome.peak = peak_memory(gateway.process.pid)
            outcome.seconds = time.monotonic() - began
            if attack.poll():
                outcome.wrong.append(f"the attack itself ended with {attack.returncode}")
    outcome.wrong += other.failures
    if outcome.peak > MOST_MEMORY:
        outcome.wrong.append(f"{outcome.peak / MB:.0f} MB of memory")
    waits = other.appends + other.reads
    outcome.answers, outcome.longest = len(waits), max(waits, default=0.0)
    return outcome
