"""What `holdfast prove --list` shows: the proofs, and the broken targets with the proofs that disprove them."""

import sys
from typing import Any

from holdfast.prove import terminal
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.evidence import pretty
from holdfast.prove.proof import Proof
from holdfast.prove.proofs import catalogue


def listing() -> dict[str, Any]:
    """The catalogue and the broken targets, for --list."""
    proofs = catalogue().values()
    return {
        "proofs": [_listed(proof) for proof in proofs],
        "broken": [
            {
                "kind": kind,
                "defect": expected.defect,
                "disproven": [proof.name for proof in proofs if proof.name in expected.disproven],
                "not_reached": [proof.name for proof in proofs if proof.name in expected.not_reached],
            }
            for kind, expected in KINDS.items()
        ],
    }


def show_listing(as_json: bool) -> None:
    """Print the catalogue and the broken targets."""
    listed = listing()
    if as_json:
        sys.stdout.write(pretty(listed).decode())
        return
    proofs = [
        (proof["name"], "yes" if proof["restarts"] else "no", ", ".join(proof["needs"]), proof["claim"])
        for proof in listed["proofs"]
    ]
    terminal.table(("proof", "restarts", "needs", "claim"), proofs, sys.stdout)
    kinds = [
        (f"broken:{kind['kind']}", f"{kind['defect']} (disproven by {', '.join(kind['disproven']) or 'nothing'})")
        for kind in listed["broken"]
    ]
    sys.stdout.write("\n")
    terminal.table(("target", "defect"), kinds, sys.stdout)


def _listed(proof: Proof) -> dict[str, Any]:
    return {"name": proof.name, "claim": proof.claim, "needs": list(proof.needs), "restarts": proof.restarts}
