"""approval: a turn that waits for its user still waits after a restart, and what the user then says counts once."""

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import always_back
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import FileLook, History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

FIRST, SECOND = "first", "second"
YES = "I approve. Go on."


async def steps(stage: Stage) -> None:
    """Ask for something that the target is to have approved; it asks back and does nothing yet."""
    await _ask(stage, FIRST)


async def after(stage: Stage) -> None:
    """Look at the task that waits; approve it, twice by the same message and once by another; then the like again."""
    await _approve(stage, FIRST, "after the stop")
    await _ask(stage, SECOND)


async def after_kill(stage: Stage) -> None:
    """The same for the second; and the first approval is delivered once more."""
    await _approve(stage, SECOND, "after the kill")
    await _repeat(stage, FIRST, "after the kill")


def check(history: History, facts: Facts) -> Finding:
    """Nothing is done before it is approved; the task waits over the restart, and goes on when it is approved; however
    often the approval comes, the effect is there once."""
    first = history.turn(f"{FIRST} request")
    if first.reply.state is not TaskState.INPUT_REQUIRED and not history.file(f"{FIRST} unapproved").count:
        return inconclusive(
            "the target did not ask for approval",
            expected=f"a task that is input-required after “{first.said}”",
            got=first.reply.describe(),
            curl=first.curl,
            hint="its card has a skill with the tag approval: which words make it ask?",
        )
    if wrong := _too_soon(history, FIRST) or always_back(history) or _approved(history, FIRST, "after the stop"):
        return wrong
    if wrong := _too_soon(history, SECOND) or _approved(history, SECOND, "after the kill"):
        return wrong
    wrong = _once(history, FIRST, history.file(f"{FIRST} approved once more after the kill"))
    return wrong or proven("what waits for approval waits over a stop and a kill, and is done once")


async def _ask(stage: Stage, which: str) -> None:
    nonce = stage.new_hex()
    text = f"Ask me for my approval, and then append the line {nonce} to the file approved-{nonce}.txt."
    await stage.say(f"{which} request", stage.new_context(), text, within=stage.bounds.answer)
    stage.count_line(f"{which} unapproved", f"approved-{nonce}.txt", nonce)


async def _approve(stage: Stage, which: str, when: str) -> None:
    request = stage.history.turn(f"{which} request")
    if request.reply.task_id is None or request.reply.state is not TaskState.INPUT_REQUIRED:
        return
    await stage.watch_task(f"{which} waits {when}", request.reply.task_id, lambda reply: True, stage.bounds.answer)
    task_id = request.reply.task_id
    turn = await stage.say(f"approve {which}", None, YES, task_id=task_id, within=stage.bounds.answer)
    _count(stage, which, f"{which} approved")
    await stage.say(
        f"approve {which} again", None, YES, task_id=task_id, message_id=turn.message_id, within=stage.bounds.answer
    )
    await stage.say(f"approve {which} anew", None, YES, task_id=task_id, within=stage.bounds.answer)
    _count(stage, which, f"{which} approved again")


async def _repeat(stage: Stage, which: str, when: str) -> None:
    if stage.history.took(f"approve {which}"):
        turn, task_id = stage.history.turn(f"approve {which}"), stage.history.turn(f"{which} request").reply.task_id
        await stage.say(
            f"approve {which} {when}",
            None,
            YES,
            task_id=task_id,
            message_id=turn.message_id,
            within=stage.bounds.answer,
        )
    _count(stage, which, f"{which} approved once more {when}")


def _count(stage: Stage, which: str, step: str) -> None:
    line = stage.history.file(f"{which} unapproved").line
    stage.count_line(step, f"approved-{line}.txt", line)


def _too_soon(history: History, which: str) -> Finding | None:
    """Nothing was done before it was approved, and the target asked."""
    request, seen = history.turn(f"{which} request"), history.file(f"{which} unapproved")
    if not seen.count and request.reply.state is TaskState.INPUT_REQUIRED:
        return None
    return disproven(
        "it was done before anybody approved it" if seen.count else "the target did not ask a second time",
        expected=f"a task that is input-required, and no line {seen.line} in {seen.path}",
        got=f"{request.reply.describe()}, and the line {seen.count or 0} times",
        curl=request.curl,
    )


def _approved(history: History, which: str, when: str) -> Finding | None:
    """The task still waits, and once it is approved its work is done once."""
    look, turn = history.last_look(f"{which} waits {when}"), history.turn(f"approve {which}")
    if look.reply.error or look.reply.state is not TaskState.INPUT_REQUIRED:
        return disproven(
            "the question was forgotten",
            expected=f"a task that is input-required {when}",
            got=look.reply.describe_task(),
            curl=look.curl,
            hint="keep what waits for its user on disk, and do not end it at a start",
        )
    seen = history.file(f"{which} approved")
    if not seen.count:
        return disproven(
            "it was approved, and was not done",
            expected=f"the line {seen.line} in {seen.path}",
            got=turn.reply.describe(),
            curl=turn.curl,
            hint="an approval is used up when its work is done, not when it comes",
        )
    return _once(history, which, seen) or _once(history, which, history.file(f"{which} approved again"))


def _once(history: History, which: str, seen: FileLook) -> Finding | None:
    if seen.count == 1:
        return None
    turn = history.turn(f"approve {which}")
    return disproven(
        f"one approval was used {seen.count or 0} times",
        expected=f"the line {seen.line} once in {seen.path}",
        got=f"{seen.count or 0} times",
        curl=turn.curl,
    )


PROOF = Proof(
    "approval",
    "what waits for approval still waits after a restart, and an approval is used once",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    requires=frozenset({"workspace", "approval"}),
    profile="tools",
    remedy="What waits for its user is in the memory of the process, or an approval is not tied to what it "
    "approves. Keep the task that waits on disk, and use an approval once, when its work is done.",
)
