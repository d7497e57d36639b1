"""duplicate: a message that is delivered twice has its effect once, also if a restart lies between."""

from holdfast.prove.runtime.checks import always_back, answered, in_progress, over, proven_live
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import FileLook, History, TurnRecord
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.runtime.workspace import NO_EFFECT_SEEN
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

FIRST, LATER, NAMESAKE = "first delivery", "delivery after the stop", "delivery in another context"
LOOK = "look after"


async def steps(stage: Stage) -> None:
    """The same message twice, as from a client that lost the acknowledgement; then look at the effect.

    And a message of another conversation that happens to have the same id.
    """
    message_id, context = stage.new_message_id(), stage.new_context()
    await _deliver(stage, FIRST, message_id, context)
    await _deliver_again(stage, "second delivery", FIRST)
    await _deliver(stage, NAMESAKE, message_id, stage.new_context())


async def after(stage: Stage) -> None:
    """The same message once more, and look; then a message for the next restart."""
    await _deliver_again(stage, "third delivery", FIRST)
    await _deliver(stage, LATER, stage.new_message_id(), stage.new_context())


async def after_kill(stage: Stage) -> None:
    """Both of them once more, and look."""
    await _deliver_again(stage, "again after the kill", LATER)
    await _deliver_again(stage, "fourth delivery", FIRST)


def check(history: History, facts: Facts) -> Finding:
    """Each line is in its file once. A further delivery may be answered or refused, as the target likes."""
    for step in (FIRST, "second delivery", NAMESAKE):
        if wrong := _once(history, step):
            return wrong
    if wrong := always_back(history):
        return wrong
    if not history.starts():
        return proven_live("however often it is delivered, the effect happened once")
    for step in ("third delivery", LATER, "again after the kill", "fourth delivery"):
        if wrong := _once(history, step):
            return wrong
    return proven("however often it is delivered, also after a stop and a kill, the effect happened once")


async def _deliver(stage: Stage, step: str, message_id: str, context: str) -> None:
    """Send a message that has an effect, and look at the effect."""
    nonce = stage.new_hex()
    text = f"Please append the line {nonce} to the file journal-{nonce}.txt."
    await _send(stage, step, message_id, context, text)
    stage.count_line(f"{LOOK} {step}", f"journal-{nonce}.txt", nonce)


async def _deliver_again(stage: Stage, step: str, earlier: str) -> None:
    """Send the message of an earlier step as it was, and look at its effect."""
    first, seen = stage.history.turn(earlier), stage.history.file(f"{LOOK} {earlier}")
    await _send(stage, step, first.message_id, first.context_id, first.said)
    stage.count_line(f"{LOOK} {step}", f"journal-{seen.line}.txt", seen.line)


async def _send(stage: Stage, step: str, message_id: str, context: str, text: str) -> None:
    """Send a message and wait for the end of its task."""
    turn = await stage.say(step, context, text, message_id=message_id, within=stage.bounds.answer)
    if turn.reply.task_id is not None and in_progress(turn.reply):
        await stage.watch_task(f"see the end of the {step}", turn.reply.task_id, over, stage.bounds.answer)


def _once(history: History, step: str) -> Finding | None:
    """The line of a delivery is in its file once."""
    turn, seen = history.turn(step), history.file(f"{LOOK} {step}")
    if step in (FIRST, NAMESAKE, LATER) and (wrong := answered(turn)):
        return wrong
    if not seen.count:
        return _nothing(step, turn, seen)
    if seen.count == 1:
        return None
    return disproven(
        f"the effect happened {seen.count} times",
        expected=f"the line {seen.line} once in {seen.path}",
        got=f"{seen.count} times",
        curl=turn.curl,
        hint="deliver it twice: the message id is the same",
    )


def _nothing(step: str, turn: TurnRecord, seen: FileLook) -> Finding:
    """The effect of a delivery was not seen at all."""
    expected = f"the line {seen.line} in {seen.path}"
    got = "no such file" if seen.count is None else "the file without the line"
    if step == NAMESAKE:
        return disproven(
            "a message was taken for one of another context, which has the same id",
            expected=expected,
            got=f"{got}, and {turn.reply.describe()}",
            curl=turn.curl,
            hint="a message is known by its id and its context: ids are made by clients, which do not know each other",
        )
    return inconclusive(
        "the effect of the message was not seen at all",
        expected=expected,
        got=got,
        curl=turn.curl,
        hint=NO_EFFECT_SEEN,
    )


PROOF = Proof(
    "duplicate",
    "a message that is delivered twice has its effect once, also after a restart",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    live=True,
    live_claim="a message that is delivered twice has its effect once",
    requires=frozenset({"workspace"}),
    remedy="A client that lost the acknowledgement sends its message again. Keep the answer by contextId and "
    "messageId, and answer a message that comes again from there, without running it.",
    shown_in=("Executor._answer", "Conversations.answer_to"),
)
