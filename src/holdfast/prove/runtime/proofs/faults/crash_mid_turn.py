"""crash-mid-turn: a turn that is cut by a SIGKILL comes to an end, and the conversation goes on."""

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import answered, came_back, ended, in_progress, never_caught, over, recalls, settled
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, inconclusive, proven

LONG_TURN_SECONDS = 3
LONG_TURN = f"Think for {LONG_TURN_SECONDS} seconds, then say done."
QUESTION = "What is my lucky word?"
BY_ITSELF = frozenset({TaskState.COMPLETED, TaskState.INPUT_REQUIRED})


async def steps(stage: Stage) -> None:
    """A finished turn; a long one that tells a fact, and is seen running; then the target is killed."""
    context = stage.new_context()
    await stage.say("turn before", context, f"Hi, my name is {stage.facts.name}.")
    accepted = await stage.say(
        "long turn", context, f"My lucky word is {stage.facts.code_word}. {LONG_TURN}", wait=False
    )
    if accepted.reply.task_id is not None and in_progress(accepted.reply):
        await stage.watch_task("see it running", accepted.reply.task_id, settled, stage.bounds.answer)


async def after(stage: Stage) -> None:
    """Look at the task until it ends; then a question for the name, and one for what the cut turn told."""
    if not _caught(stage.history):
        return
    turn = stage.history.turn("long turn")
    assert turn.reply.task_id is not None
    await stage.watch_task("see it end", turn.reply.task_id, over, stage.bounds.recovery)
    await stage.say("next turn", turn.context_id, "What's my name?", within=stage.bounds.recovery)
    await stage.say("turn after", turn.context_id, QUESTION, within=stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The cut task is known and ends within the bound, and the next turns know, within it, what was said before and in
    the turn that was cut."""
    wrong = answered(history.turn("turn before"))
    if wrong:
        return wrong
    if not _caught(history):
        return never_caught(history.turn("long turn"), history.look("see it running"), LONG_TURN_SECONDS)
    wrong = came_back(history.power("start again"))
    if wrong:
        return wrong
    look = history.last_look("see it end")
    wrong = (
        ended(look)
        or recalls(history.turn("next turn"), facts.name)
        or recalls(history.turn("turn after"), facts.code_word)
        or _ended_by_itself(history)
    )
    return wrong or proven(f"the cut task ended as {look.reply.state}, and the next turn knows {facts.name}")


def _caught(history: History) -> bool:
    """Whether the long turn was seen running before the kill."""
    return history.took("see it running") and in_progress(history.last_look("see it running").reply)


def _ended_by_itself(history: History) -> Finding | None:
    """A turn with a good end was either resumed, or over before the kill, which had others to wait for."""
    seen, look = history.last_look("see it running"), history.last_look("see it end")
    gap = history.power("kill").at - seen.at
    if look.reply.state not in BY_ITSELF or gap < LONG_TURN_SECONDS - 1:
        return None
    return inconclusive(
        f"the kill came {gap:.1f} s after the turn was seen running, which may have ended by then",
        expected="a kill while the turn is running",
        got=look.reply.describe_task(),
        curl=look.curl,
        hint="try it alone: --only crash-mid-turn",
    )


PROOF = Proof(
    "crash-mid-turn",
    "a turn that is cut by a kill ends, and the next one knows what was said before",
    steps,
    check,
    power="kill",
    after=after,
    cut=True,
    requires=frozenset({"tasks"}),
    remedy="Nobody is at work any more on a task that was running at the kill. At the start, before the first "
    "request, end or resume every task that is not over.",
    shown_in=("Tasks.end_orphans",),
)
