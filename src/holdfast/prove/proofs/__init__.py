"""The catalogue: one file per proof, each with a `PROOF`. A file that is put here is found."""

from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules

from holdfast.core.errors import InvalidInput
from holdfast.prove.proof import Proof


def catalogue() -> dict[str, Proof]:
    """Every proof by name: those that others need first, those that restart the target last."""
    found = [import_module(f"{__name__}.{module.name}").PROOF for module in iter_modules(__path__)]
    needed = {need for proof in found for need in proof.needs}
    found.sort(key=lambda proof: (proof.restarts, proof.name not in needed, proof.name))
    return {proof.name: proof for proof in found}


def select(proofs: dict[str, Proof], only: Collection[str]) -> list[Proof]:
    """The proofs asked for (all if none is) and those that they need, in the order of the catalogue."""
    unknown = sorted(set(only) - set(proofs))
    if unknown:
        raise InvalidInput(f"there is no proof named {', '.join(unknown)}", hint=f"one or more of {', '.join(proofs)}")
    wanted = set(only or proofs)
    for proof in reversed(proofs.values()):
        if proof.name in wanted:
            wanted.update(need for need in proof.needs if need in proofs)
    return [proof for proof in proofs.values() if proof.name in wanted]
