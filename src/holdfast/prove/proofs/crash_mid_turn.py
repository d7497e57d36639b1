"""crash-mid-turn: a turn that is cut by a SIGKILL comes to an end, and the conversation goes on."""

from holdfast.prove.checks import answered, came_back, ended, in_progress, over, settled
from holdfast.prove.facts import Facts
from holdfast.prove.history import History
from holdfast.prove.proof import Proof
from holdfast.prove.stage import Stage
from holdfast.prove.verdict import Finding, inconclusive, proven

LONG_TURN = "Think for 3 seconds, then say done."
SEEN_RUNNING_SECONDS = 3.0


async def steps(stage: Stage) -> None:
    """A finished turn; a long one that is seen running; then the target is killed, and started again."""
    context = stage.new_context()
    await stage.say("turn before", context, f"Hi, my name is {stage.facts.name}.")
    accepted = await stage.say("long turn", context, LONG_TURN, wait=False)
    if accepted.reply.task_id is not None and in_progress(accepted.reply):
        await stage.watch_task("see it running", accepted.reply.task_id, settled, SEEN_RUNNING_SECONDS)


async def after(stage: Stage) -> None:
    """Look at the task until it ends; then one more turn."""
    if not _caught(stage.history):
        return
    turn = stage.history.turn("long turn")
    assert turn.reply.task_id is not None
    await stage.watch_task("see it end", turn.reply.task_id, over, stage.bounds.recovery)
    await stage.say("next turn", turn.context_id, "What's my name?", within=stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The cut task is known and ends within the bound, and the next turn answers within it."""
    wrong = answered(history.turn("turn before"))
    if wrong:
        return wrong
    if not _caught(history):
        return _never_caught_running(history)
    wrong = came_back(history.power("start again"))
    if wrong:
        return wrong
    look = history.last_look("see it end")
    wrong = ended(look) or answered(history.turn("next turn"))
    return wrong or proven(f"the cut task ended as {look.reply.state}, and the next turn answers")


def _caught(history: History) -> bool:
    """Whether the long turn was seen running before the kill."""
    return history.took("see it running") and in_progress(history.last_look("see it running").reply)


def _never_caught_running(history: History) -> Finding:
    """There was no running task to kill, so the claim could not be put to the test."""
    accepted = history.turn("long turn")
    look = history.last_look("see it running") if history.took("see it running") else None
    return inconclusive(
        "no turn could be caught while it was running",
        expected=f"a task that is working while “{LONG_TURN}” is under way",
        got=look.reply.describe_task() if look else accepted.reply.describe(),
        curl=look.curl if look else accepted.curl,
        hint="the target must answer a send that does not wait with a task, and show it to get-task",
    )


PROOF = Proof(
    "crash-mid-turn",
    "a turn that is cut by a kill ends, and the next one works",
    steps,
    check,
    power="kill",
    after=after,
)
