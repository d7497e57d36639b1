"""What a target offers, and what a proof therefore cannot be tried on it."""

from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.prove.runtime.proof import Proof
from holdfast.prove.targets import Target
from holdfast.prove.verdict import Finding, inconclusive

NEEDS_RESTART = "this target cannot be restarted from here"
NEEDS_WORKSPACE = "the target's workspace cannot be seen from here"
NEEDS_PEER = "the target was not told that it may ask the second agent"
NEEDS_STREAMING = "its agent card does not say that it streams"


def missing(proof: Proof, target: Target, *, can_stream: bool) -> Finding | None:
    """The first thing that the proof wants of a target and does not find, if there is one."""
    if proof.restarts and not target.restartable:
        return inconclusive(NEEDS_RESTART, hint="use --command or --restart-command, so that the proof can restart it")
    if "workspace" in proof.requires and target.workspace is None:
        return inconclusive(NEEDS_WORKSPACE, hint="name its folder with --workspace DIR")
    if "peer" in proof.requires and target.peer_url is None:
        return inconclusive(NEEDS_PEER, hint="start it with --command, and {peer}, the second agent's URL, in that")
    if "streaming" in proof.requires and not can_stream:
        return inconclusive(NEEDS_STREAMING, hint='a card with "capabilities": {"streaming": true} says so')
    return None


def streams(cards: Iterable[Mapping[str, Any] | None]) -> bool:
    """Whether one of the agent cards that were found says that the target streams."""
    found = [card.get("capabilities") for card in cards if card is not None]
    return any(isinstance(offered, dict) and offered.get("streaming") is True for offered in found)
