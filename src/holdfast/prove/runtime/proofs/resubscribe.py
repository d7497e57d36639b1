"""resubscribe: who loses a stream and subscribes again misses nothing."""

from holdfast.prove.runtime.checks import never_cut, over, says
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

COUNT_TO, COUNTED = 30, "thirty"
PIECES = 5
TAKES_NO_SUBSCRIBER = ("-32004", "-32602")
"""The errors, in 1.0 and in 0.3, of a target that takes no subscriber for a task that has ended."""


async def steps(stage: Stage) -> None:
    """Stream a long answer, hang up in the middle, subscribe to the task; then read the whole answer."""
    text = f"Count slowly to {COUNT_TO}."
    streamed = await stage.stream("stream", stage.new_context(), text, cut_after=PIECES)
    if streamed.ended or streamed.task_id is None:
        return
    await stage.subscribe("subscribe again", streamed.task_id, within=stage.bounds.answer)
    await stage.watch_task("read the answer", streamed.task_id, over, stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """The subscription ends with the task, and what it told is the whole answer."""
    if not history.took("subscribe again"):
        return never_cut(history.streamed("stream"))
    again, look = history.streamed("subscribe again"), history.last_look("read the answer")
    if _came_too_late(history):
        return inconclusive(
            "the task had ended before anybody could subscribe again",
            expected=f"a task that is still working while “{history.streamed('stream').said}” is under way",
            got=f"{again.error}, and {look.reply.describe_task()}",
            curl=again.curl,
            hint="the target must stream its answer while it is being made, and take its time for it",
        )
    if again.error:
        return disproven(
            "the subscription did not come to a good end",
            expected="the task as it stands, then its news to the end",
            got=again.error,
            curl=again.curl,
        )
    if not again.states or again.states[-1].running:
        return disproven(
            "the subscription ended before the task",
            expected="a stream that tells of the task's end",
            got=f"a stream that ended with the task {again.states[-1] if again.states else 'in no known state'}",
            curl=again.curl,
        )
    if not look.reply.answered or _letters(again.text) != _letters(look.reply.text):
        return disproven(
            "who subscribed again has not been told the whole answer",
            expected=look.reply.describe(),
            got=repr(again.text),
            curl=again.curl,
        )
    if not says(look.reply.readings, str(COUNT_TO)) and not says(look.reply.readings, COUNTED):
        return inconclusive(
            "the answer is not whole, so nothing shows that its end was told",
            expected=f"an answer that gets to {COUNT_TO}",
            got=look.reply.describe(),
            curl=look.curl,
            hint="does the work end when its listener goes away?",
        )
    return proven("cut and subscribed again, nothing of the answer is missing")


def _came_too_late(history: History) -> bool:
    """Whether the subscription was refused as one to an ended task may be, and the next look saw the answer."""
    refusal = history.streamed("subscribe again").error
    first = history.first_look("read the answer").reply
    return any(code in refusal for code in TAKES_NO_SUBSCRIBER) and over(first) and first.answered


def _letters(text: str) -> str:
    """A text without its blanks: pieces are put together in different ways."""
    return "".join(text.split())


PROOF = Proof(
    "resubscribe",
    "who loses a stream and subscribes again misses nothing",
    steps,
    check,
    requires=frozenset({"streaming", "tasks"}),
    profile="streaming",
    remedy="A new subscriber is not told what came before, or not the end. Send the task as it stands with all that "
    "was said, then what is new from that moment on.",
    shown_in=("Executor.execute",),
)
