"""Which layers a failure touches: only those are looked at."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from holdfast.prove.runtime.proof import Proof
from holdfast.prove.verdict import Finding, Verdict

Restart = Literal["stop", "kill"]
SURFACE = frozenset({"reachable", "card", "turn"})
"""What all others rest on."""
RESTART = "survives a restart"
BY_PROFILE = {
    "continuity": frozenset({"session key", "store"}),
    "streaming": frozenset({"session key"}),
    "files": frozenset({"files"}),
    "memory": frozenset({"memory"}),
    "tools": frozenset[str](),
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """The proofs that are disproven, the layers that this touches (None: all), and how the target is restarted.

    `restarted` are those of the disproven that restart it.
    """

    layers: frozenset[str] | None
    disproven: frozenset[str] = frozenset()
    power: Restart = "stop"
    restarted: frozenset[str] = frozenset()

    def touches(self, layer: str) -> bool:
        """Whether the layer is worth a look."""
        return self.layers is None or layer in self.layers


EVERYWHERE = Trouble(None)


def trouble_in(found: Iterable[tuple[Proof, Finding]]) -> Trouble | None:
    """What is wrong, if something is: a disproof touches the layers of its profile, a fault only the surface."""
    outcomes = list(found)
    disproven = [proof for proof, finding in outcomes if finding.verdict is Verdict.DISPROVEN]
    if not disproven and not any(finding.fault for _, finding in outcomes):
        return None
    layers = set(SURFACE)
    for proof in disproven:
        layers |= BY_PROFILE.get(proof.profile, frozenset())
    restarted = [proof for proof in disproven if proof.last_power in ("stop", "kill")]
    if restarted:
        layers |= {RESTART, "session key"}
    how: Restart = "kill" if {proof.last_power for proof in restarted} == {"kill"} else "stop"
    return Trouble(frozenset(layers), _names(disproven), how, _names(restarted))


def _names(proofs: Iterable[Proof]) -> frozenset[str]:
    return frozenset(proof.name for proof in proofs)
