"""Histories made by hand, for the tests of the checkers: what a target could have answered, good and bad."""

from holdfast.core import TaskState
from holdfast.prove.runtime.facts import CLASSIC
from holdfast.prove.runtime.history import Entry, FileLook, History, Power, StreamRecord, TaskLook, TurnRecord
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.verdict import Finding, Verdict
from holdfast.prove.wire.replies import TargetReply

PROOFS = catalogue()
KNOWS = TargetReply(text="You are Hongming, and you like blue.", state=TaskState.COMPLETED, task_id="t")
FORGOT = TargetReply(text="I do not know.", state=TaskState.COMPLETED, task_id="t")
REFUSED = TargetReply(error="JSON-RPC error -32603: oops")
RUNNING = TargetReply(state=TaskState.WORKING, task_id="t")
FAILED = TargetReply(state=TaskState.FAILED, task_id="t")
CANCELED = TargetReply(state=TaskState.CANCELED, task_id="t")
OPEN = TargetReply(text="done. What next?", state=TaskState.INPUT_REQUIRED, task_id="t")
LATE = TargetReply(error="no answer within 15 s")

BACK = Power("start again", "start", 1.0)
DOWN = Power("start again", "start", 1.0, trouble="it ended with exit code 3")
STOP = Power("stop", "stop", 0.1)
KILL = Power("kill", "kill", 0.01)

PROVEN, DISPROVEN, INCONCLUSIVE = Verdict.PROVEN, Verdict.DISPROVEN, Verdict.INCONCLUSIVE


def turn(step: str, reply: TargetReply = KNOWS) -> TurnRecord:
    return TurnRecord(step, "canary-ctx-1", f"({step})", reply, 0.01, f"curl {step}")


def saying(step: str, text: str) -> TurnRecord:
    return turn(step, TargetReply(text=text, state=TaskState.COMPLETED, task_id="t"))


def look(step: str, reply: TargetReply) -> TaskLook:
    return TaskLook(step, "t", reply, 15.0, f"curl {step}")


def seen(step: str, count: int | None) -> FileLook:
    return FileLook(step, "/w/file.txt", "1", count)


def streamed(
    step: str,
    *pieces: str,
    ended: bool = False,
    error: str = "",
    task_id: str | None = "t",
    states: tuple[TaskState, ...] = (TaskState.WORKING,),
) -> StreamRecord:
    text = "".join(pieces)
    return StreamRecord(
        step, "canary-ctx-1", "(count)", task_id, pieces, text, states, ended, error, 0.1, f"curl {step}"
    )


def judge(proof: str, *entries: Entry) -> Finding:
    """What the proof's checker finds; a disproof must show what was expected, what came and how to see it."""
    finding = PROOFS[proof].check(History(*entries), CLASSIC)
    if finding.verdict is Verdict.DISPROVEN:
        assert finding.reason
        assert finding.expected
        assert finding.got
        assert finding.curl or finding.hint
    if finding.verdict is Verdict.INCONCLUSIVE:
        assert finding.hint
    return finding
