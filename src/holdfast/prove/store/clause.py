"""One claim about a store: the steps that put it to the test, and the checker of the facts they recorded."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, inconclusive


def elsewhere() -> Finding:
    """Nothing at all was there in another process, so a claim about what is there cannot be judged."""
    return inconclusive("what was written is not there in another process", hint="see the clause kept")


@dataclass(frozen=True, slots=True)
class Clause:
    """A claim and how it is checked. `needs` is what a store must offer for it; `check` sees the facts only.

    `facts` is the kind of what `steps` return: a frozen dataclass of plain JSON values, kept as evidence.
    """

    name: str
    claim: str
    steps: Callable[[StoreStage], Awaitable[Any]]
    check: Callable[[Any], Finding]
    needs: frozenset[str] = frozenset()
