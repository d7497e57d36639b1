"""stream-cancel: a stream that is cut leaves a task that ends and a conversation that goes on."""

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import ended, never_cut, over, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, proven

COUNT_TO = 30
GOOD_ENDS = frozenset({TaskState.COMPLETED, TaskState.CANCELED, TaskState.INPUT_REQUIRED})


async def steps(stage: Stage) -> None:
    """Stream a long answer to a message with a name in it, hang up at its first words, see the task end, ask."""
    context = stage.new_context()
    text = f"My name is {stage.facts.name}. Count slowly to {COUNT_TO}."
    streamed = await stage.stream("stream", context, text, cut_after=1)
    if streamed.ended or streamed.task_id is None:
        return
    await stage.watch_task("see it end", streamed.task_id, over, stage.bounds.answer)
    await stage.say("ask", context, "What's my name?", within=stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """The task ends, completed or canceled, and the next turn knows what was said before the cut."""
    streamed = history.streamed("stream")
    if not history.took("see it end"):
        return never_cut(streamed)
    look = history.last_look("see it end")
    wrong = ended(look)
    if wrong is None and look.reply.state not in GOOD_ENDS:
        wrong = disproven(
            "the task failed because its listener went away",
            expected="a task that is completed or canceled",
            got=look.reply.describe_task(),
            curl=look.curl,
        )
    wrong = wrong or recalls(history.turn("ask"), facts.name)
    return wrong or proven(f"the task ended as {look.reply.state}, and the next turn knows {facts.name}")


PROOF = Proof(
    "stream-cancel",
    "after a stream was cut the task ends and the conversation goes on",
    steps,
    check,
    requires=frozenset({"streaming", "tasks"}),
    profile="streaming",
    remedy="The turn ends with the connection that follows it. Let it run by itself, and let the stream only tell "
    "what happens.",
    shown_in=("Executor.execute",),
)
