"""children: what another agent answered is known after a SIGKILL, and is not asked for again."""

from holdfast.prove.runtime.checks import answered, came_back, recalls, says
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven


async def steps(stage: Stage) -> None:
    """Have the second agent asked for its password; then the target is killed, and started again."""
    text = f"Ask the agent at {stage.peer_url}: what is the password? Then report."
    await stage.say("have it asked", stage.new_context(), text)
    stage.look_at_peer("look at the peer")


async def after(stage: Stage) -> None:
    """Ask the target for what the other agent said, and see whether that one was asked again."""
    context = stage.history.turn("have it asked").context_id
    await stage.say("ask", context, "What is my password?", within=stage.bounds.answer)
    stage.look_at_peer("look at the peer again")


def check(history: History, facts: Facts) -> Finding:
    """The conversation has what the other agent said, and the start did not ask it again."""
    turn = history.turn("have it asked")
    wrong = answered(turn)
    if wrong:
        return wrong
    if not says(turn.reply.readings, facts.secret):
        return inconclusive(
            "the other agent's answer was not reported, so nothing shows that it would be kept",
            expected=f"an answer with {facts.secret} in it",
            got=turn.reply.describe(),
            curl=turn.curl,
            hint="see the proof peer",
        )
    wrong = came_back(history.power("start again")) or recalls(history.turn("ask"), facts.secret)
    if wrong:
        return wrong
    before, now = (_asked_often(history, step) for step in ("look at the peer", "look at the peer again"))
    if now > before:
        return disproven(
            "the other agent was asked again",
            expected=f"{before} questions to it",
            got=f"{now} questions",
            curl=turn.curl,
            hint="keep what others answered with the conversation",
        )
    return proven("what only the other agent knew is known after the kill, without asking it again")


def _asked_often(history: History, step: str) -> int:
    """How often the peer was asked for its password; others may ask it for something else meanwhile."""
    return sum("password" in question.text.lower() for question in history.asked(step).questions)


PROOF = Proof(
    "children",
    "what another agent answered is known after a kill",
    steps,
    check,
    needs=("turn", "peer"),
    power="kill",
    after=after,
    requires=frozenset({"peer"}),
    profile="tools",
    remedy="What another agent answered is in the memory of the process. Keep it with the turn in which it was asked.",
)
