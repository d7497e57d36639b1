"""crash-mid-turn: a turn that is cut by a SIGKILL comes to an end, and the conversation goes on."""

from holdfast.prove.checks import answered, came_back
from holdfast.prove.facts import Facts
from holdfast.prove.history import History
from holdfast.prove.proof import Proof
from holdfast.prove.replies import Reply
from holdfast.prove.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

LONG_TURN = "Think for 4 seconds, then say done."
SEEN_RUNNING_SECONDS = 3.0


async def steps(stage: Stage) -> None:
    """A finished turn; a long one that is seen running; SIGKILL; start; look at the task; one more turn."""
    context = stage.new_context()
    await stage.say("turn before", context, f"Hi, my name is {stage.facts.name}.")
    accepted = await stage.say("long turn", context, LONG_TURN, wait=False)
    task_id = accepted.reply.task_id
    if task_id is None or not _in_progress(accepted.reply):
        return
    seen = await stage.watch_task("see it running", task_id, _settled, SEEN_RUNNING_SECONDS)
    if not _in_progress(seen.reply):
        return
    await stage.kill("kill")
    if await stage.start("start again"):
        await stage.watch_task("see it end", task_id, _ended, stage.bounds.recovery)
        await stage.say("next turn", context, "What's my name?", within=stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The cut task is known and ends within the bound, and the next turn answers within it."""
    wrong = answered(history.turn("turn before"))
    if wrong:
        return wrong
    if not history.took("kill"):
        return _never_caught_running(history)
    wrong = came_back(history.power("start again"))
    if wrong:
        return wrong
    look = history.last_look("see it end")
    if look.reply.error:
        return disproven(
            "the task that was accepted cannot be looked up any more",
            expected="after the restart, a task that has ended",
            got=look.reply.error,
            curl=look.curl,
        )
    if look.reply.state is None or not look.reply.state.terminal:
        return disproven(
            f"the cut task has not ended {look.within:g} s after the restart",
            expected=f"after the restart, a task that ends within {look.within:g} s",
            got=look.reply.describe_task(),
            curl=look.curl,
        )
    wrong = answered(history.turn("next turn"))
    return wrong or proven(f"the cut task ended as {look.reply.state}, and the next turn answers")


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


def _in_progress(reply: Reply) -> bool:
    return not reply.error and reply.state is not None and reply.state.running


def _settled(reply: Reply) -> bool:
    return bool(reply.error) or reply.state is not None


def _ended(reply: Reply) -> bool:
    return bool(reply.error) or (reply.state is not None and reply.state.terminal)


PROOF = Proof(
    "crash-mid-turn", "a turn that is cut by a kill ends, and the next one works", steps, check, restarts=True
)
