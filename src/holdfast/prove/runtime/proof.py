"""One claim about continuity: the steps that put it to the test, and the checker of what they recorded."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding

Steps = Callable[[Stage], Awaitable[None]]
Checker = Callable[[History, Facts], Finding]
Power = Literal["stop", "kill"]
Requirement = Literal["workspace", "peer", "streaming"]

IN_ORDER: tuple[Power | None, ...] = (None, "stop", "kill")


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim and how it is checked.

    `needs` names the prerequisites and proofs that must be proven, else this one is not reached. With a `power`, the
    target is stopped (SIGTERM) or killed (SIGKILL) after the steps and started again, together with all other proofs
    of that power, and then the steps of `after` are taken. `requires` names what the target must offer: a "workspace"
    whose files can be seen and seeded, a way to ask the "peer", "streaming". A `gate` proof is one that a release
    waits for.
    """

    name: str
    claim: str
    steps: Steps
    check: Checker
    needs: tuple[str, ...] = ("turn",)
    power: Power | None = None
    after: Steps | None = None
    requires: frozenset[Requirement] = frozenset()
    gate: bool = False

    @property
    def restarts(self) -> bool:
        """Whether the target is stopped or killed in it."""
        return self.power is not None

    def known_before(self, other: "Proof") -> bool:
        """Whether this one has come to its finding by the time that the other begins (see `run`)."""
        return self.power is None or IN_ORDER.index(self.power) < IN_ORDER.index(other.power)
