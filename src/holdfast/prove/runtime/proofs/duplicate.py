"""duplicate: a message that is delivered twice has its effect once."""

from holdfast.prove.runtime.checks import answered, in_progress, over
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven


async def steps(stage: Stage) -> None:
    """The same message twice, as from a client that lost the acknowledgement; then look at the effect."""
    nonce = stage.new_hex()
    file = f"journal-{nonce}.txt"
    context, message_id = stage.new_context(), stage.new_message_id()
    text = f"Please append the line {nonce} to the file {file}."
    await stage.say("first delivery", context, text, message_id=message_id)
    second = await stage.say("second delivery", context, text, message_id=message_id)
    if second.reply.task_id is not None and in_progress(second.reply):
        await stage.watch_task("see the second end", second.reply.task_id, over, stage.bounds.answer)
    stage.count_line("look", file, nonce)


def check(history: History, facts: Facts) -> Finding:
    """The line is in the file once. The second delivery may be answered or refused, as the target likes."""
    first, seen = history.turn("first delivery"), history.file("look")
    wrong = answered(first)
    if wrong:
        return wrong
    if not seen.count:
        return inconclusive(
            "the effect of the message was not seen at all",
            expected=f"the line {seen.line} in {seen.path}",
            got="no such file" if seen.count is None else "the file without the line",
            curl=first.curl,
            hint="the target needs a tool that writes files, and --workspace must be the folder it works in",
        )
    if seen.count > 1:
        return disproven(
            f"the effect happened {seen.count} times",
            expected=f"the line {seen.line} once in {seen.path}",
            got=f"{seen.count} times",
            curl=first.curl,
            hint="deliver it twice: the message id is the same",
        )
    return proven("delivered twice, the effect happened once")


PROOF = Proof(
    "duplicate",
    "a message that is delivered twice has its effect once",
    steps,
    check,
    requires=frozenset({"workspace"}),
)
