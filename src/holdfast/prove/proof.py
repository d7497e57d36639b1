"""One claim about continuity: the steps that put it to the test, and the checker of what they recorded."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from holdfast.prove.facts import Facts
from holdfast.prove.history import History
from holdfast.prove.stage import Stage
from holdfast.prove.verdict import Finding

Steps = Callable[[Stage], Awaitable[None]]
Checker = Callable[[History, Facts], Finding]


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim and how it is checked.

    `needs` names the prerequisites and proofs that must be proven first, else this one is not reached.
    A proof that `restarts` the target runs alone; the others run at the same time.
    """

    name: str
    claim: str
    steps: Steps
    check: Checker
    needs: tuple[str, ...] = ("turn",)
    restarts: bool = False
