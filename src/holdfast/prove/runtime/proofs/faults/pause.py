"""pause: a target that stood still for longer than any lease ends its turn once, and knows what it knew."""

import asyncio

from holdfast.prove.runtime.checks import answered, ended, in_progress, never_caught, over, recalls, settled
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.runtime.workspace import NO_EFFECT_SEEN
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

SECONDS = 2


async def steps(stage: Stage) -> None:
    """A finished turn; one that takes its time and then writes a line, seen running; then the target stands still."""
    context, nonce = stage.new_context(), stage.new_hex()
    await stage.say("turn before", context, f"Hi, my name is {stage.facts.name}.")
    text = f"Think for {SECONDS} seconds, then append the line {nonce} to the file pause-{nonce}.txt."
    accepted = await stage.say("long turn", context, text, wait=False)
    if accepted.reply.task_id is not None and in_progress(accepted.reply):
        await stage.watch_task("see it running", accepted.reply.task_id, settled, stage.bounds.answer)
    if stage.sees_files:
        stage.count_line("look before", f"pause-{nonce}.txt", nonce)


async def after(stage: Stage) -> None:
    """Look at the task until it ends, and have a turn that takes longer than it; ask for the name; look at the line."""
    if not _caught(stage.history):
        return
    turn = stage.history.turn("long turn")
    assert turn.reply.task_id is not None
    text = f"Think for {SECONDS + 1} seconds, then say done."
    await asyncio.gather(
        stage.watch_task("see it end", turn.reply.task_id, over, stage.bounds.recovery),
        stage.say("longer than that", stage.new_context(), text, within=stage.bounds.answer),
    )
    await stage.say("next turn", turn.context_id, "What's my name?", within=stage.bounds.answer)
    await stage.watch_task("see it ended", turn.reply.task_id, over, stage.bounds.recovery)
    if stage.sees_files:
        before = stage.history.file("look before")
        stage.count_line("look", f"pause-{before.line}.txt", before.line)


def check(history: History, facts: Facts) -> Finding:
    """The task ends and stays so, the next turn knows what was said before, and the line was written at most once."""
    wrong = answered(history.turn("turn before"))
    if wrong:
        return wrong
    accepted = history.turn("long turn")
    if not _caught(history):
        done = history.took("look before") and bool(history.file("look before").count)
        return never_caught(accepted, history.look("see it running"), SECONDS, done=done)
    first, look = history.last_look("see it end"), history.last_look("see it ended")
    wrong = ended(first) or ended(look) or recalls(history.turn("next turn"), facts.name)
    if wrong is None and look.reply.state is not first.reply.state:
        wrong = disproven(
            "a task that had ended changed",
            expected=first.reply.describe_task(),
            got=look.reply.describe_task(),
            curl=look.curl,
        )
    if wrong is None and history.took("look"):
        wrong = _often(history)
    return wrong or proven(f"the task ended as {look.reply.state}, once, and the next turn knows {facts.name}")


def _often(history: History) -> Finding | None:
    """Who wakes up late does not do again what somebody else may have done meanwhile."""
    accepted, seen = history.turn("long turn"), history.file("look")
    if (seen.count or 0) > 1:
        return disproven(
            f"the effect happened {seen.count} times",
            expected=f"the line {seen.line} once in {seen.path}",
            got=f"{seen.count} times",
            curl=accepted.curl,
            hint="whoever takes over work whose lease has expired must know that the old owner cannot go on",
        )
    if not seen.count and history.last_look("see it ended").reply.answered:
        return inconclusive(
            "the effect of the turn was not seen at all",
            expected=f"the line {seen.line} in {seen.path}",
            got="no such file" if seen.count is None else "the file without the line",
            curl=accepted.curl,
            hint=NO_EFFECT_SEEN,
        )
    return None


def _caught(history: History) -> bool:
    """Whether the long turn was seen running before the pause, and had not done its work."""
    return (
        history.took("see it running")
        and in_progress(history.last_look("see it running").reply)
        and not (history.took("look before") and history.file("look before").count)
    )


PROOF = Proof(
    "pause",
    "a target that stood still for a while ends its turn once",
    steps,
    check,
    power="pause",
    after=after,
    requires=frozenset({"tasks"}),
    remedy="Work whose lease had expired was given to somebody else while its owner slept, or was given up "
    "without a word. Let an owner that wakes up look whether the work is still its own.",
)
