"""What `holdfast prove --list` shows: the proofs, and the broken targets with the proofs that disprove them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.prove.broken.expected import KINDS
from holdfast.prove.evidence import pretty
from holdfast.prove.runtime.own_proofs import with_own
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.view import terminal

SIGNALS = {"stop": "SIGTERM", "kill": "SIGKILL", "pause": "SIGSTOP", "upgrade": "SIGTERM"}


def listing(own: Sequence[Path] = ()) -> dict[str, Any]:
    """The catalogue with everyone's own proofs, and the broken targets, for --list."""
    proofs = with_own(catalogue(), own).values()
    return {
        "proofs": [_listed(proof) for proof in proofs],
        "broken": [
            {
                "kind": kind,
                "defect": expected.defect,
                "disproven": [proof.name for proof in proofs if proof.name in expected.disproven],
                "not_reached": [proof.name for proof in proofs if proof.name in expected.not_reached],
                "explore": expected.explore,
                "source": expected.source,
            }
            for kind, expected in KINDS.items()
        ],
    }


def show_listing(as_json: bool, own: Sequence[Path] = ()) -> None:
    """Print the catalogue and the broken targets."""
    listed = listing(own)
    if as_json:
        sys.stdout.write(pretty(listed).decode())
        return
    proofs = [
        (
            proof["name"],
            proof["profile"],
            SIGNALS.get(proof["power"], ""),
            ", ".join((*proof["needs"], *proof["requires"])),
            proof["claim"],
        )
        for proof in listed["proofs"]
    ]
    terminal.table(("proof", "profile", "signal", "needs", "claim"), proofs, sys.stdout)
    gates = ", ".join(proof["name"] for proof in listed["proofs"] if proof["gate"])
    if gates:
        sys.stdout.write(f"\na release waits for: {gates}\n")
    kinds = [(f"broken:{kind['kind']}", f"{kind['defect']} ({_found_by(kind)})") for kind in listed["broken"]]
    sys.stdout.write("\n")
    terminal.table(("target", "defect"), kinds, sys.stdout)


def _found_by(kind: dict[str, Any]) -> str:
    if kind["explore"]:
        return "found by exploring"
    return f"disproven by {', '.join(kind['disproven']) or 'nothing'}"


def _listed(proof: Proof) -> dict[str, Any]:
    return {
        "name": proof.name,
        "claim": proof.claim,
        "needs": list(proof.needs),
        "requires": sorted(proof.requires),
        "power": proof.power,
        "gate": proof.gate,
        "profile": proof.profile,
    }
