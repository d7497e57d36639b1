"""resubscribe: who loses a stream and subscribes again misses nothing."""

from holdfast.prove.checks import never_cut, over
from holdfast.prove.facts import Facts
from holdfast.prove.history import History
from holdfast.prove.proof import Proof
from holdfast.prove.stage import Stage
from holdfast.prove.verdict import Finding, disproven, proven

COUNT_TO = 30
PIECES = 5


async def steps(stage: Stage) -> None:
    """Stream a long answer, hang up in the middle, subscribe to the task; then read the whole answer."""
    text = f"Count slowly to {COUNT_TO}."
    streamed = await stage.stream("stream", stage.new_context(), text, cut_after=PIECES)
    if streamed.ended or streamed.task_id is None:
        return
    await stage.subscribe("subscribe again", streamed.task_id, within=stage.bounds.recovery)
    await stage.watch_task("read the answer", streamed.task_id, over, stage.bounds.recovery)


def check(history: History, facts: Facts) -> Finding:
    """The subscription ends with the task, and what it told is the whole answer."""
    if not history.took("subscribe again"):
        return never_cut(history.streamed("stream"))
    again, look = history.streamed("subscribe again"), history.last_look("read the answer")
    if again.error:
        return disproven(
            "the subscription did not come to a good end",
            expected="the task as it stands, then its news to the end",
            got=again.error,
            curl=again.curl,
        )
    if not again.states or not again.states[-1].terminal:
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
    return proven("cut and subscribed again, nothing of the answer is missing")


def _letters(text: str) -> str:
    """A text without its blanks: pieces are put together in different ways."""
    return "".join(text.split())


PROOF = Proof(
    "resubscribe",
    "who loses a stream and subscribes again misses nothing",
    steps,
    check,
    requires=frozenset({"streaming"}),
)
