"""peer: the target asks another agent and reports what only that one knows."""

from holdfast.prove.runtime.checks import answered, over, says
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, proven


async def steps(stage: Stage) -> None:
    """Have the second agent asked for its password; see what it was asked, and what the target's task keeps."""
    turn = await stage.say(
        "have it asked",
        stage.new_context(),
        f"Ask the agent at {stage.peer_url}: what is the password? and report.",
    )
    stage.look_at_peer("look at the peer")
    if turn.reply.task_id is not None:
        await stage.watch_task("look at the task", turn.reply.task_id, over, stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The answer carries the secret, the peer was asked for it, and the target's task keeps the answer."""
    turn, asked = history.turn("have it asked"), history.asked("look at the peer")
    wrong = answered(turn)
    if wrong:
        return wrong
    if not any("password" in question.text.lower() for question in asked.questions):
        return disproven(
            "the other agent was not asked",
            expected=f"a question to it after “{turn.said}”",
            got=f"no question, and {turn.reply.describe()}",
            curl=turn.curl,
        )
    if not says(turn.reply.readings, facts.secret):
        return disproven(
            "the answer does not carry what the other agent said",
            expected=f"an answer with {facts.secret} in it, which only the other agent knows",
            got=turn.reply.describe(),
            curl=turn.curl,
        )
    keeps = history.took("look at the task")
    if keeps:
        look = history.last_look("look at the task")
        if not says(look.reply.readings, facts.secret):
            return disproven(
                "the exchange is not kept",
                expected=f"a task that keeps {facts.secret}",
                got=look.reply.describe(),
                curl=look.curl,
            )
    kept = ", and its task keeps it" if keeps else " (it has no task to keep it in)"
    return proven(f"the answer carries what only the other agent knows{kept}")


PROOF = Proof(
    "peer",
    "what another agent was asked for is reported and kept",
    steps,
    check,
    requires=frozenset({"peer"}),
    profile="tools",
    remedy="The agent was not asked, or its answer was lost on the way. Send it a message over A2A, wait for the end "
    "of its task, and keep what it said in the answer.",
)
