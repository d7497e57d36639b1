"""The catalogue: one file per proof, each with a `PROOF`. A file that is put here is found."""

from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules

from holdfast.core.errors import InvalidInput
from holdfast.prove.runtime.proof import Proof

GATE = ("name", "file-only", "file-caption", "memory")
LEFT_FOR_LATER = ("memory-deep", "tool-use", "stream-cancel", "peer")
CHECKED_BY_NOBODY = (
    *("restart", "crash", "crash-mid-turn", "isolation", "parallel", "duplicate"),
    *("task-follow-up", "file-later", "resubscribe", "long", "cancel", "both-wires"),
)
ORDER = (*GATE, *LEFT_FOR_LATER, *CHECKED_BY_NOBODY)


def catalogue() -> dict[str, Proof]:
    """Every proof by name, in the order of the catalogue; one that has no place in it comes last."""
    found = [import_module(f"{__name__}.{module.name}").PROOF for module in iter_modules(__path__)]
    places = {name: place for place, name in enumerate(ORDER)}
    found.sort(key=lambda proof: (places.get(proof.name, len(ORDER)), proof.name))
    return {proof.name: proof for proof in found}


def select(proofs: dict[str, Proof], only: Collection[str]) -> list[Proof]:
    """The proofs asked for (all if none is) and those that they need, in the order of the catalogue."""
    unknown = sorted(set(only) - set(proofs))
    if unknown:
        raise InvalidInput(f"there is no proof named {', '.join(unknown)}", hint=f"one or more of {', '.join(proofs)}")
    wanted = set(only or proofs)
    for _ in proofs:
        wanted |= {need for name in wanted for need in proofs[name].needs if need in proofs}
    return [proof for proof in proofs.values() if proof.name in wanted]
