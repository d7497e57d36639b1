"""task-follow-up: a message that names only a task belongs to that task's conversation."""

from holdfast.prove.runtime.checks import answered, over, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

ENDED = "-32004"
"""The error of a target that takes no more messages for a task that has ended."""

LONG_TURN = "Think for 2 seconds, then say done."


async def steps(stage: Stage) -> None:
    """A name, and a turn that takes a while; while it runs, a question that names its task and no context.

    The name is in no message of that task, so that a target that answers with what was said there does not know it.
    """
    context = stage.new_context()
    await stage.say("tell", context, f"Hi, my name is {stage.facts.name}.")
    accepted = await stage.say("long turn", context, LONG_TURN, wait=False)
    task_id = accepted.reply.task_id
    if task_id is None:
        return
    asked = await stage.say("ask", None, "What's my name?", task_id=task_id, within=stage.bounds.answer)
    if asked.reply.task_id is not None and not asked.reply.answered and not over(asked.reply):
        await stage.watch_task("see the answer", asked.reply.task_id, over, stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The question is answered in the task's own context, with what was said there."""
    tell, accepted = history.turn("tell"), history.turn("long turn")
    wrong = answered(tell)
    if wrong:
        return wrong
    if not history.took("ask"):
        return inconclusive(
            "there was no task to follow up on",
            expected="a task for a turn that is not waited for",
            got=accepted.reply.describe(),
            curl=accepted.curl,
            hint="a target that answers with messages only has no tasks to continue",
        )
    ask = history.turn("ask")
    if ENDED in ask.reply.error and over(accepted.reply):
        return inconclusive(
            "the task had ended, and an ended task takes no more messages",
            expected=f"a task that is working while “{LONG_TURN}” is under way",
            got=accepted.reply.describe_task(),
            curl=accepted.curl,
            hint="the target must answer a send that does not wait before the turn is over",
        )
    if ask.reply.context_id not in (None, tell.context_id):
        return disproven(
            "the follow-up was put into another context",
            expected=f"an answer in {tell.context_id}, the context of the task",
            got=f"an answer in {ask.reply.context_id}",
            curl=ask.curl,
            hint="a message that names only a task belongs to the context of that task",
        )
    if history.took("see the answer"):
        look = history.last_look("see the answer")
        wrong = recalls(look, facts.name, ask.said)
    else:
        wrong = recalls(ask, facts.name)
    return wrong or proven(f"the follow-up by task alone knows {facts.name}")


PROOF = Proof("task-follow-up", "a message that names only a task is in the same conversation", steps, check)
