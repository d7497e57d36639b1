"""task-follow-up: a message that names only a task belongs to that task's conversation.

A task that has ended takes no more messages, and a target that says so is right. So the task is looked at first, and
after a refusal again; what was refused by the task alone is then asked by its context.
"""

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import answered, over, recalls, settled
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven
from holdfast.prove.wire.replies import TargetReply

TAKES_NO_MORE = ("-32004", "-32602", "-32600")
"""The errors, in 1.0 and in 0.3, of a target that takes no more messages for a task that has ended."""

SILENCE = "no answer"
"""How the error begins of a look that nobody answered in time."""
LONG_TURN = "Think for 2 seconds, then say done."
QUESTION = "What's my name?"
LOOKED_AT_SECONDS = 3.0
BEFORE, AFTER = "look at the task", "look at the task again"


async def steps(stage: Stage) -> None:
    """A name, and a turn that takes a while; while it runs, a question that names its task and no context.

    The name is in no message of that task, so that a target that answers with what was said there does not know it.
    Where the question is refused, the task is looked at again, and its context is asked.
    """
    context = stage.new_context()
    await stage.say("tell", context, f"Hi, my name is {stage.facts.name}.")
    accepted = await stage.say("long turn", context, LONG_TURN, wait=False)
    task_id = accepted.reply.task_id
    if task_id is None:
        return
    await stage.watch_task(BEFORE, task_id, settled, LOOKED_AT_SECONDS)
    asked = await stage.say("ask", None, QUESTION, task_id=task_id, within=stage.bounds.answer)
    if _refused(asked.reply):
        await stage.watch_task(AFTER, task_id, settled, stage.bounds.answer)
        await stage.say("ask the context", context, QUESTION, within=stage.bounds.answer)
    elif asked.reply.task_id is not None and not asked.reply.answered and not over(asked.reply):
        await stage.watch_task("see the answer", asked.reply.task_id, over, stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The question is answered in the task's own context, with what was said there.

    Or it is refused because the task has ended, and its context knows what was said.
    """
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
    if _refused(ask.reply) and _had_ended(history):
        wrong = recalls(history.turn("ask the context"), facts.name)
        return wrong or proven(f"the task had ended and takes no more messages; its context knows {facts.name}")
    if _refused(ask.reply) and (unseen := _unseen(history)):
        return unseen
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


def _refused(reply: TargetReply) -> bool:
    """Whether the reply is one of those with which a target may refuse a message to an ended task."""
    return any(code in reply.error for code in TAKES_NO_MORE) or reply.state is TaskState.REJECTED


def _had_ended(history: History) -> bool:
    """Whether the task was seen ended, before the question or right after it was refused."""
    replies = [history.turn("long turn").reply]
    replies += [look.reply for look in (history.look(BEFORE), history.look(AFTER)) if look is not None]
    return any(not reply.error and reply.state is not None and reply.state.terminal for reply in replies)


def _unseen(history: History) -> Finding | None:
    """Of a task that nobody could look at in time it cannot be said whether it had ended when the question came."""
    if not history.took(AFTER) or not (look := history.last_look(AFTER)).reply.error.startswith(SILENCE):
        return None
    return inconclusive(
        "the question was refused, and whether its task had ended could not be seen in time",
        expected=f"a look at the task within {look.within:g} s",
        got=look.reply.error,
        curl=look.curl,
        hint="a machine that is less busy, or a longer --timeout, shows it",
    )


PROOF = Proof(
    "task-follow-up",
    "a message that names only a task is in the same conversation",
    steps,
    check,
    requires=frozenset({"tasks"}),
    remedy="A message that names only a task was taken for a new conversation, or was never run. Look the task up, "
    "and let the message be the next turn in the context of that task.",
    shown_in=("Handler._placed",),
)
