"""One claim about continuity: the steps that put it to the test, and the checker of what they recorded."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding

Steps = Callable[[Stage], Awaitable[None]]
Checker = Callable[[History, Facts], Finding]
Power = Literal["stop", "kill", "pause", "upgrade"]
Profile = Literal["continuity", "files", "memory", "tools", "streaming"]
Requirement = Literal["workspace", "peer", "streaming", "both wires", "tasks", "approval"]

POWERS: tuple[Power, ...] = ("stop", "kill", "pause", "upgrade")
"""What can be done to a target, in the order in which it is done."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim and how it is checked.

    `needs` names the prerequisites and proofs that must be proven, else this one is not reached. With a `power`, the
    target is stopped (SIGTERM) or killed (SIGKILL) after the steps and started again, or paused (SIGSTOP, SIGCONT), or
    stopped and started as its next version, together with all other proofs of that power, and then the steps of `after`
    are taken. `requires` names what the target must offer: a "workspace" whose files can be seen and seeded, a way to
    ask the "peer", "streaming", "both wires", "tasks" and not only messages, "approval" before it acts. A `gate` proof
    is one that a release waits for. The `profile` says what it is about: conversations over time, faults and retries
    ("continuity"), or one of the features that an agent may have or not. The `remedy` says, in a sentence or two, what
    is likely wrong where it is disproven, and what to do; `shown_in` are the parts of the examples for the official SDK
    that do it.

    A proof that is stopped may be killed later as well, and goes on with `after_kill`. One that is `alone` shares its
    restart with nobody: nothing is said to the target between its last step and the signal. With `times`, the signal
    and the start come so often, one after the other, before anything else is said. One that is `cut` leaves a turn
    running, so its steps come last before the signal. What one that is `live` claims is judged from its steps alone
    where the target cannot be restarted; `live_claim` is what that amounts to, where it is less than the claim.
    """

    name: str
    claim: str
    steps: Steps
    check: Checker
    needs: tuple[str, ...] = ("turn",)
    power: Power | None = None
    after: Steps | None = None
    after_kill: Steps | None = None
    alone: bool = False
    times: int = 1
    cut: bool = False
    live: bool = False
    live_claim: str = ""
    requires: frozenset[Requirement] = frozenset()
    gate: bool = False
    profile: Profile = "continuity"
    remedy: str = ""
    shown_in: tuple[str, ...] = ()

    @property
    def restarts(self) -> bool:
        """Whether something is done to the target in it."""
        return self.power is not None

    @property
    def last_power(self) -> Power | None:
        """What is done to the target last in it."""
        return "kill" if self.after_kill else self.power

    def without_restarts(self) -> Self:
        """What of the claim can be judged from the steps alone."""
        claim = self.live_claim or self.claim
        return replace(self, claim=claim, power=None, after=None, after_kill=None, alone=False, times=1, cut=False)

    def known_before(self, other: "Proof") -> bool:
        """Whether this one has come to its finding by the time that the other begins (see `run`)."""
        if self.last_power is None or other.power is None:
            return self.last_power is None
        return POWERS.index(self.last_power) < POWERS.index(other.power)
