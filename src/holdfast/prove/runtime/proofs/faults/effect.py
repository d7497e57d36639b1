"""effect: what a turn did before it was cut by a SIGKILL is not done again by whoever resumes it.

Some effects have ended by then, as the line of a file has. Of others nobody knows the end: another agent was asked, and
had not answered. It may be asked again only by the same message, which it can know for the same.
"""

import asyncio

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import came_back, ended, in_progress, never_caught, over, settled
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.runtime.workspace import NO_EFFECT_SEEN
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

SECONDS = 3
FOUND_WITHIN_SECONDS, FOUND_WITHIN_SHARE = 8, 0.25
"""So long an effect is waited for at least, and so much of the time for an answer."""
ASKED_WITHIN_SECONDS = 3
HELD_SECONDS = 20
NOBODY = (
    "Nobody is at work any more on a task that was running at the kill. At the start, before the first request, end or "
    "resume every task that is not over."
)


async def steps(stage: Stage) -> None:
    """A turn that asks the second agent, if there is one, which does not answer yet; one that writes a line and then
    takes its time; once the question and the line are there, the target is killed."""
    if stage.has_peer:
        await _ask(stage)
    await _write(stage)


async def _write(stage: Stage) -> None:
    nonce = stage.new_hex()
    text = f"Append the line {nonce} to the file effect-{nonce}.txt, then think for {SECONDS} seconds."
    accepted = await stage.say("accept", stage.new_context(), text, wait=False)
    if accepted.reply.task_id is None or not in_progress(accepted.reply):
        return
    await stage.await_line("look", f"effect-{nonce}.txt", nonce, found_within(stage.bounds.answer))
    await stage.watch_task("see it running", accepted.reply.task_id, settled, stage.bounds.answer)


def found_within(answer: float) -> float:
    """How long an effect is waited for by whoever waits so long for an answer."""
    return max(FOUND_WITHIN_SECONDS, FOUND_WITHIN_SHARE * answer)


async def _ask(stage: Stage) -> None:
    nonce = stage.new_hex()
    text = f"Ask the agent at {stage.peer_url}: wait {HELD_SECONDS} seconds, then say {nonce}. Then report."
    accepted = await stage.say("accept the question", stage.new_context(), text, wait=False)
    if accepted.reply.task_id is not None and in_progress(accepted.reply):
        await stage.await_question("look at the peer", nonce, ASKED_WITHIN_SECONDS)


async def after(stage: Stage) -> None:
    """Look at each task until it ends, have one more turn in its conversation, and look at the effect."""
    await asyncio.gather(_look_at_line(stage), _look_at_question(stage))


async def _look_at_question(stage: Stage) -> None:
    if not _asked(stage.history, "look at the peer"):
        return
    turn = stage.history.turn("accept the question")
    assert turn.reply.task_id is not None
    await stage.watch_task("see the asking end", turn.reply.task_id, over, stage.bounds.recovery)
    await stage.say("turn after the asking", turn.context_id, "Say done.", within=stage.bounds.recovery)
    stage.look_at_peer("look at the peer again")


async def _look_at_line(stage: Stage) -> None:
    if not _caught(stage.history):
        return
    turn, seen = stage.history.turn("accept"), stage.history.last_file("look")
    assert turn.reply.task_id is not None
    await stage.watch_task("see it end", turn.reply.task_id, over, stage.bounds.recovery)
    await stage.say("next turn", turn.context_id, "Say done.", within=stage.bounds.recovery)
    stage.count_line("look again", f"effect-{seen.line}.txt", seen.line)


def check(history: History, facts: Facts) -> Finding:
    """The cut tasks end within the bound, the line is in the file once, the other agent was asked by one message."""
    accepted = history.turn("accept")
    if not history.took("see it running"):
        return never_caught(accepted, None, SECONDS)
    before = history.last_file("look")
    if not before.count:
        return inconclusive(
            "the effect of the turn was not seen before the kill",
            expected=f"the line {before.line} in {before.path}",
            got="no such file" if before.count is None else "the file without the line",
            curl=accepted.curl,
            hint=NO_EFFECT_SEEN,
        )
    if not _caught(history):
        return never_caught(accepted, history.look("see it running"), SECONDS)
    wrong = came_back(history.power("start again"))
    if wrong:
        return wrong
    wrong, seen = ended(history.last_look("see it end"), NOBODY), history.file("look again")
    if wrong is None and seen.count != 1:
        wrong = disproven(
            f"the effect of the turn that was cut is there {seen.count or 0} times",
            expected=f"the line {seen.line} once in {seen.path}",
            got=f"{seen.count or 0} times",
            curl=accepted.curl,
            hint="write down that an effect is about to happen, and that it has; look there before it is done again",
        )
    return wrong or _asked_anew(history) or _ended_by_itself(history) or _proven(history)


def _proven(history: History) -> Finding:
    claim = "what was done before the kill was not done again after it"
    return proven(f"{claim}, nor what may have been done" if _asked(history, "look at the peer") else claim)


def _asked(history: History, step: str) -> set[str]:
    """The messages by which the other agent was asked this."""
    looks = history.looks_at_peer(step)
    word = history.turn("accept the question").said.rpartition("say ")[2].partition(".")[0] if looks else ""
    return {question.message_id for question in looks[-1].questions if word in question.text} if looks else set()


def _asked_anew(history: History) -> Finding | None:
    """Who does not know whether another agent was asked does not ask it by another message."""
    if not _asked(history, "look at the peer"):
        return None
    accepted, messages = history.turn("accept the question"), _asked(history, "look at the peer again")
    if wrong := ended(history.last_look("see the asking end"), NOBODY):
        return wrong
    if len(messages) == 1:
        return None
    return disproven(
        "another agent that had been asked before the kill was asked anew after it",
        expected="one question to it, or the same message again",
        got=f"{len(messages)} messages with the same question",
        curl=accepted.curl,
        hint="write down what is about to be asked, and by which message; ask again by that one, or say that its end "
        "is not known",
    )


def _ended_by_itself(history: History) -> Finding | None:
    """A turn with a good end may have been over before the kill, which had others to wait for."""
    look = history.last_look("see it end")
    gap = history.power("kill").at - history.last_file("look").at
    if look.reply.state is not TaskState.COMPLETED or gap < SECONDS - 1:
        return None
    return inconclusive(
        f"the kill came {gap:.1f} s after the line was seen, and the turn may have ended by then",
        expected="a kill while the turn is running",
        got=look.reply.describe_task(),
        curl=look.curl,
        hint="try it alone: --only effect",
    )


def _caught(history: History) -> bool:
    """Whether the effect was there while its turn was running, before the kill."""
    return (
        history.took("see it running")
        and bool(history.last_file("look").count)
        and in_progress(history.last_look("see it running").reply)
    )


PROOF = Proof(
    "effect",
    "what a turn did before a kill is not done again after it",
    steps,
    check,
    power="kill",
    after=after,
    requires=frozenset({"workspace"}),
    profile="tools",
    remedy="A turn that was cut is run again from its beginning. Write down that an effect is about to happen "
    "and that it has happened, and look there before it is done again.",
)
