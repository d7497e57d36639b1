"""task-later: a task that has ended stays as it ended, also over a restart."""

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import always_back, answered, in_progress, over
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History, TaskLook
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

LONG_TURN = "Think for 4 seconds, then say done."
FIRST, SECOND = "the first", "the second"


async def steps(stage: Stage) -> None:
    """A turn that ends, and one that is canceled; look at both tasks."""
    await _end_two(stage, FIRST)


async def after(stage: Stage) -> None:
    """Look at both tasks; then the same with two others."""
    await _look(stage, FIRST, "after the stop")
    await _end_two(stage, SECOND)


async def after_kill(stage: Stage) -> None:
    """Look at all of them."""
    await _look(stage, FIRST, "after the kill")
    await _look(stage, SECOND, "after the kill")


def check(history: History, facts: Facts) -> Finding:
    """Every task is there after the stop and after the kill, in the state and with the answer that it ended with."""
    first = history.turn(f"{FIRST} that ends")
    if wrong := answered(first):
        return wrong
    if first.reply.task_id is None:
        return inconclusive(
            "there was no task to look up",
            expected="a task for a turn",
            got=first.reply.describe(),
            curl=first.curl,
            hint="a target that answers with messages only has no tasks to keep",
        )
    if wrong := always_back(history):
        return wrong
    for which in (FIRST, SECOND):
        for how in ("ended", "canceled"):
            if wrong := _changed(history, f"{which} {how}"):
                return wrong
    canceled = "" if history.took(f"look at {FIRST} canceled") else " (none could be canceled)"
    return proven(f"tasks that had ended are as they were, after a stop and a kill{canceled}")


async def _end_two(stage: Stage, which: str) -> None:
    """One turn that ends by itself, and one that is canceled, if the target cancels."""
    turn = await stage.say(f"{which} that ends", stage.new_context(), f"Say {stage.facts.code_word}.")
    if turn.reply.task_id is not None:
        await stage.watch_task(f"look at {which} ended", turn.reply.task_id, over, stage.bounds.answer)
    accepted = await stage.say(f"{which} that is canceled", stage.new_context(), LONG_TURN, wait=False)
    task_id = accepted.reply.task_id
    if task_id is None or not in_progress(accepted.reply):
        return
    wish = await stage.cancel(f"cancel {which}", task_id)
    if not wish.reply.error and wish.reply.state is TaskState.CANCELED:
        await stage.watch_task(f"look at {which} canceled", task_id, over, stage.bounds.answer)


async def _look(stage: Stage, which: str, when: str) -> None:
    for how in ("ended", "canceled"):
        seen = stage.history.look(f"look at {which} {how}")
        if seen is not None:
            await stage.watch_task(f"look at {which} {how} {when}", seen.task_id, _any, stage.bounds.answer)


def _any(reply: object) -> bool:
    """One look is enough."""
    return True


def _changed(history: History, which: str) -> Finding | None:
    before = history.look(f"look at {which}")
    if before is None:
        return None
    later = (history.look(f"look at {which} {when}") for when in ("after the stop", "after the kill"))
    return next(filter(None, (_differs(before, look) for look in later if look is not None)), None)


def _differs(before: TaskLook, now: TaskLook) -> Finding | None:
    """The task is not as it was when it had ended; of one that was canceled, the state counts."""
    same_state = now.reply.state is before.reply.state
    same_words = now.reply.text == before.reply.text or before.reply.state is TaskState.CANCELED
    if not now.reply.error and same_state and same_words:
        return None
    return disproven(
        "a task that had ended cannot be looked up any more" if now.reply.error else "a task that had ended changed",
        expected=before.reply.describe() if same_state else before.reply.describe_task(),
        got=now.reply.describe() if same_state or now.reply.error else now.reply.describe_task(),
        curl=now.curl,
        hint="keep tasks on disk with their state and their answer, and resume none that had ended",
    )


PROOF = Proof(
    "task-later",
    "a task that has ended or was canceled stays so, also over a restart",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    requires=frozenset({"tasks"}),
    remedy="Tasks are in the memory of the process, or the start touches those that had ended. Keep each task "
    "with its state and its answer on disk, and end or resume at a start only what was running.",
    shown_in=("Tasks.end_orphans",),
)
