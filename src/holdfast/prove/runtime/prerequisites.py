"""What must hold before any proof makes sense: reachable, a card that is JSON, a turn that answers.

They are checked like proofs and in this order; the first that breaks explains all that is not reached after. What a
single proof requires of the target, and does not find there, is `missing`.
"""

from dataclasses import dataclass

from holdfast.prove.runtime.checks import answered
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.targets import PausableTarget, Target, UpgradableTarget
from holdfast.prove.verdict import Finding, disproven, faulted, inconclusive, proven
from holdfast.prove.wire import card as agent_card
from holdfast.prove.wire.client import CARD_PATHS
from holdfast.prove.wire.envelopes import WireVersion

GREETING = "Hello."
WORK = "Think for 1 second, then say done."

NEEDS_RESTART = "this target cannot be restarted from here"
NEEDS_WORKSPACE = "the target's workspace cannot be seen from here"
NEEDS_PEER = "the target was not told that it may ask the second agent"
NEEDS_STREAMING = "its agent card does not say that it streams"
NEEDS_BOTH_WIRES = "its agent card does not offer both versions"
NEEDS_TASKS = "it answers with messages and has no tasks"
NEEDS_APPROVAL = "its agent card does not say that it asks for approval"
NEEDS_PAUSE = "this target cannot be paused from here"
NEEDS_UPGRADE = "no next version of this target is named"


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
    """One of the places holds a JSON object, and there is a way in it that we speak."""
    pages = history.pages()
    for page in pages:
        if page.status == 200 and page.document is not None:
            others = agent_card.other_bindings(page.document)
            if others:
                return faulted(
                    f"the agent card offers {', '.join(others)} only, and this proof speaks JSON-RPC",
                    hint="let it serve JSON-RPC too, and name that in its card",
                )
            return proven("the agent card is JSON")
    return disproven(
        "no agent card that is JSON",
        expected=f"a JSON object at {' or '.join(CARD_PATHS)}",
        got="; ".join(f"HTTP {page.status} {page.start_of_body!r}" for page in pages),
        curl=pages[0].curl,
    )


async def greet(stage: Stage) -> None:
    """One turn in a context of its own. Where it is answered with a message, one more that is work and that nobody
    waits for: many an agent makes a task of that alone."""
    greeted = await stage.say("greet", stage.new_context(), GREETING)
    if greeted.reply.answered and greeted.reply.task_id is None:
        await stage.say("give it work", stage.new_context(), WORK, wait=False, within=stage.bounds.answer)


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
            hint="the target may speak another version than its card says: see --wire",
        )
    return wrong


PREREQUISITES = (
    Proof("reachable", "the target answers HTTP", reach, check_reached, needs=()),
    Proof("card", "its agent card is JSON", read_card, check_card, needs=("reachable",)),
    Proof("turn", "a turn answers", greet, check_greeted, needs=("card",)),
)


@dataclass(frozen=True, slots=True)
class Offers:
    """What the target says of itself: in its agent card, and by the form of its first answers."""

    streaming: bool = True
    versions: frozenset[WireVersion] = frozenset(WireVersion)
    tasks: bool = True
    approval: bool = True


def offers(card: History, greeting: History) -> Offers:
    """What was found out by reading the card and by a greeting; where there is no card, nothing speaks against it."""
    found = [page.document for page in card.pages() if page.status == 200 and page.document is not None]
    first = [turn for turn in greeting.turns("greet") if turn.reply.answered]
    tasks = not first or any(turn.reply.task_id is not None for turn in (*first, *greeting.turns("give it work")))
    if not found:
        return Offers(tasks=tasks)
    return Offers(
        agent_card.streams(found[0]), agent_card.versions(found[0]), tasks, agent_card.asks_for_approval(found[0])
    )


def missing(proof: Proof, target: Target, offered: Offers) -> Finding | None:
    """The first thing that the proof wants of a target and does not find, if there is one."""
    if proof.power == "pause":
        if not isinstance(target, PausableTarget):
            return inconclusive(NEEDS_PAUSE, hint="use --command, so that it is a process of the proof's own")
    elif proof.restarts and not target.restartable:
        return inconclusive(NEEDS_RESTART, hint="use --command or --restart-command, so that the proof can restart it")
    if "workspace" in proof.requires and target.workspace is None:
        return inconclusive(NEEDS_WORKSPACE, hint="name its folder with --workspace DIR")
    if "peer" in proof.requires and target.peer_url is None:
        return inconclusive(NEEDS_PEER, hint="start it with --command, and {peer}, the second agent's URL, in that")
    if "streaming" in proof.requires and not offered.streaming:
        return inconclusive(NEEDS_STREAMING, hint='a card with "capabilities": {"streaming": true} says so')
    if "both wires" in proof.requires and offered.versions != frozenset(WireVersion):
        return inconclusive(NEEDS_BOTH_WIRES, hint="a card with an interface for 0.3 and one for 1.0 does")
    if "tasks" in proof.requires and not offered.tasks:
        return inconclusive(NEEDS_TASKS, hint="an agent that answers a message with a task can be asked for it")
    if "approval" in proof.requires and not offered.approval:
        return inconclusive(NEEDS_APPROVAL, hint='a skill with the tag "approval" in its card says so')
    if proof.power == "upgrade" and not (isinstance(target, UpgradableTarget) and target.next_command):
        return inconclusive(NEEDS_UPGRADE, hint="name the command that starts it with --next-command")
    return None
