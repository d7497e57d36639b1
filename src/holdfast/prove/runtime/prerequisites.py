"""What must hold before any proof makes sense: reachable, a card that is JSON, a turn that answers.

They are checked like proofs and in this order; the first that breaks explains all that is not reached after. What a
single proof requires of the target, and does not find there, is `missing`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.prove.runtime.checks import answered
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.targets import Target
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven
from holdfast.prove.wire.client import CARD_PATHS

GREETING = "Hello."

NEEDS_RESTART = "this target cannot be restarted from here"
NEEDS_WORKSPACE = "the target's workspace cannot be seen from here"
NEEDS_PEER = "the target was not told that it may ask the second agent"
NEEDS_STREAMING = "its agent card does not say that it streams"


async def reach(stage: Stage) -> None:
    """Any HTTP answer will do; none at all is a fault of the surroundings, which the runner reports."""
    await stage.fetch("reach", CARD_PATHS[0])


def check_reached(history: History, facts: Facts) -> Finding:
    return proven(f"answers HTTP ({history.pages()[0].status})")


async def read_card(stage: Stage) -> None:
    """Look in both places where a card may be, and follow the address in it."""
    for path in CARD_PATHS:
        page = await stage.fetch(f"read {path}", path)
        if page.status == 200 and page.document is not None:
            stage.follow_card(page)
            return


def check_card(history: History, facts: Facts) -> Finding:
    """One of the places holds a JSON object."""
    pages = history.pages()
    if any(page.status == 200 and page.document is not None for page in pages):
        return proven("the agent card is JSON")
    return disproven(
        "no agent card that is JSON",
        expected=f"a JSON object at {' or '.join(CARD_PATHS)}",
        got="; ".join(f"HTTP {page.status} {page.start_of_body!r}" for page in pages),
        curl=f"curl -sSi {pages[0].url}",
    )


async def greet(stage: Stage) -> None:
    """One turn in a context of its own."""
    await stage.say("greet", stage.new_context(), GREETING)


def check_greeted(history: History, facts: Facts) -> Finding:
    """The turn has an answer."""
    wrong = answered(history.turn("greet"))
    if wrong is None:
        return proven("a turn answers")
    versions = ("-32601", "-32009")
    if any(code in wrong.got for code in versions):
        return disproven(
            wrong.reason,
            expected=wrong.expected,
            got=wrong.got,
            curl=wrong.curl,
            hint="the target may speak the other wire version: see --wire",
        )
    return wrong


PREREQUISITES = (
    Proof("reachable", "the target answers HTTP", reach, check_reached, needs=()),
    Proof("card", "its agent card is JSON", read_card, check_card, needs=("reachable",)),
    Proof("turn", "a turn answers", greet, check_greeted, needs=("card",)),
)


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
