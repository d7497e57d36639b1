"""cancel: a task that is canceled is not worked on any more."""

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import in_progress, never_caught, over, settled
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.runtime.workspace import NO_EFFECT_SEEN
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

LONG_TURN_SECONDS = 3


async def steps(stage: Stage) -> None:
    """Cancel a running task that would write a line; have the same done in a task that nobody cancels; look.

    The second shows that the line would have been written by now, and that the target can write it at all.
    """
    number = stage.new_hex()
    stopped, control = f"canceled-{number}.txt", f"control-{number}.txt"
    accepted = await stage.say("accept", stage.new_context(), _request(number, stopped), wait=False)
    task_id = accepted.reply.task_id
    if task_id is None or not in_progress(accepted.reply):
        return
    seen = await stage.watch_task("see it running", task_id, settled, stage.bounds.answer)
    if not in_progress(seen.reply):
        return
    await stage.cancel("cancel", task_id)
    await stage.say("control", stage.new_context(), _request(number, control))
    stage.count_line("look at the control", control, number)
    stage.count_line("look", stopped, number)
    await stage.watch_task("look at the task", task_id, over, stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The task is canceled and stays so, and what it was to do was not done."""
    if not history.took("cancel"):
        return never_caught(history.turn("accept"), history.look("see it running"), LONG_TURN_SECONDS)
    wish, later = history.last_look("cancel"), history.last_look("look at the task")
    seen, control = history.file("look"), history.file("look at the control")
    if wish.reply.error and wish.at - history.last_look("see it running").at > LONG_TURN_SECONDS / 2:
        return never_caught(history.turn("accept"), wish, LONG_TURN_SECONDS)
    if later.reply.error or later.reply.state is not TaskState.CANCELED:
        return disproven(
            "the running task was not canceled",
            expected="a task that is canceled",
            got=f"{later.reply.describe_task()}; the wish to cancel it was answered with {wish.reply.describe_task()}",
            curl=wish.curl,
        )
    if not control.count:
        turn = history.turn("control")
        return inconclusive(
            "the effect of such a task was not seen where nobody canceled it",
            expected=f"the line {control.line} in {control.path}",
            got=turn.reply.describe(),
            curl=turn.curl,
            hint=NO_EFFECT_SEEN,
        )
    if seen.count:
        return disproven(
            "the task says that it is canceled, and its work went on",
            expected=f"no line {seen.line} in {seen.path}",
            got="the line",
            curl=wish.curl,
        )
    return proven("the task is canceled, and its work was not done")


def _request(line: str, file: str) -> str:
    return f"Think for {LONG_TURN_SECONDS} seconds, then append the line {line} to the file {file}."


PROOF = Proof(
    "cancel",
    "a task that is canceled is not worked on any more",
    steps,
    check,
    requires=frozenset({"workspace", "tasks"}),
    profile="tools",
    remedy="The task was called canceled while its work went on, or was not canceled at all. Stop the work first, "
    "then say so; do not shield it from being cancelled.",
    shown_in=("Executor.cancel",),
)
