"""The catalogue: one file per proof, each with a `PROOF`. A file that is put here, or into `faults`, is found."""

from importlib import import_module
from pkgutil import walk_packages

from holdfast.prove.runtime.proof import Proof

GATE = ("name", "file-only", "file-caption", "memory")
LEFT_FOR_LATER = ("memory-deep", "tool-use", "stream-cancel", "peer")
CHECKED_BY_NOBODY = (
    *("restart", "crash", "crash-mid-turn", "isolation", "parallel", "duplicate"),
    *("task-follow-up", "file-later", "resubscribe", "long", "cancel", "both-wires"),
    *("wording", "task-later", "effect", "approval", "children", "pause", "upgrade"),
)
ORDER = (*GATE, *LEFT_FOR_LATER, *CHECKED_BY_NOBODY)


def catalogue() -> dict[str, Proof]:
    """Every proof by name, in the order of the catalogue; one that has no place in it comes last."""
    names = [module.name for module in walk_packages(__path__, f"{__name__}.") if not module.ispkg]
    found = [import_module(name).PROOF for name in names]
    places = {name: place for place, name in enumerate(ORDER)}
    found.sort(key=lambda proof: (places.get(proof.name, len(ORDER)), proof.name))
    return {proof.name: proof for proof in found}
