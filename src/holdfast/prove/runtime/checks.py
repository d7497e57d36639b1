"""The conditions that checkers are made of: each looks at one thing and finds it wrong, or returns None."""

import re
from dataclasses import replace

from holdfast.prove.runtime.history import History, Power, StreamRecord, TaskLook, TurnRecord
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven
from holdfast.prove.wire.replies import TargetReply

MARKERS = ("empty prompt", "no text content", "empty message")
"""What a target says that has looked for words only."""
ERROR = re.compile(
    r"\W*(?:traceback \(most recent call|(?:an )?(?:[\w.]*error|[\w.]*exception)\b|\w+ error:)", re.IGNORECASE
)
"""How an answer begins that is the text of an error."""
NO_ANSWER = "The turn came to no answer: see what the target's log says of it."
NO_START = "The target does not start on what it left behind. See its newest log, and let it start on such data."


def says(text: str, word: str) -> bool:
    """Whether the word is in the text as a word of its own; case does not count, nor do underscores around it."""
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text, re.IGNORECASE) is not None


def answered(turn: TurnRecord, said: str = "") -> Finding | None:
    """The turn has an answer that is not empty and not an error; `said` describes one that has no words, which is what
    its proof is about."""
    is_error = ERROR.match(turn.reply.text) is not None
    if turn.reply.answered and not is_error:
        return None
    what = said or f"“{turn.said}”"
    return disproven(
        f"no answer to {what}{', but the text of an error' if is_error else ''}",
        expected=f"an answer to {what}",
        got=turn.reply.describe(),
        curl=turn.curl,
        remedy=None if said else NO_ANSWER,
    )


def no_marker(turn: TurnRecord, said: str) -> Finding | None:
    """The answer does not complain that there were no words; `said` describes what there was."""
    marker = next((marker for marker in MARKERS if marker in turn.reply.text.lower()), None)
    if marker is None:
        return None
    return disproven(
        f"the target overlooked the file: “{marker}”",
        expected=f"an answer to {said}",
        got=turn.reply.describe(),
        curl=turn.curl,
    )


def recalls(seen: TurnRecord | TaskLook, fact: str, said: str = "") -> Finding | None:
    """The answer of a turn contains the fact; where it is looked up in a task, `said` is what it answers."""
    if seen.reply.answered and says(seen.reply.readings, fact):
        return None
    question = seen.said if isinstance(seen, TurnRecord) else said
    return disproven(
        f"{fact} was told and is not in the answer",
        expected=f"an answer to “{question}” with {fact} in it",
        got=seen.reply.describe(),
        curl=seen.curl,
        hint=_moved(seen) if isinstance(seen, TurnRecord) else "",
    )


def keeps_to_itself(turn: TurnRecord, secret: str) -> Finding | None:
    """The turn's answer does not contain what was told elsewhere."""
    if not says(turn.reply.readings, secret):
        return None
    return disproven(
        f"{secret} was told in another context and is in the answer",
        expected=f"an answer to “{turn.said}” without {secret} in it",
        got=turn.reply.describe(),
        curl=turn.curl,
    )


def came_back(start: Power) -> Finding | None:
    """The target was ready again after it was stopped or killed."""
    if not start.trouble:
        return None
    return disproven(
        "the target did not come back",
        expected="a target that is ready again after the start",
        got=start.trouble,
        hint="see the newest target log in the evidence",
        remedy=NO_START,
    )


def stood_still(pause: Power) -> Finding | None:
    """The target did nothing while it was paused; else the claim was not put to the test."""
    if pause.action != "pause" or not pause.trouble:
        return None
    return inconclusive(
        "the target did not stand still",
        expected="a target that is silent after SIGSTOP",
        got=pause.trouble,
        hint="its server must be the command or a child of it; one that runs elsewhere cannot be paused from here",
    )


def always_back(history: History) -> Finding | None:
    """The target was ready again after each stop and each kill."""
    return next(filter(None, map(came_back, history.starts())), None)


def proven_live(claim: str) -> Finding:
    """What holds of a target that cannot be restarted."""
    return proven(f"{claim} (it could not be restarted)")


def ended(look: TaskLook, remedy: str | None = None) -> Finding | None:
    """The task that was looked at is known and nobody works on it any more: it has ended, or waits for its user."""
    if look.reply.error:
        return disproven(
            "the task that was accepted cannot be looked up any more",
            expected="a task that has ended",
            got=look.reply.error,
            curl=look.curl,
            remedy=remedy,
        )
    if not over(look.reply):
        return disproven(
            f"the task has not ended within {look.within:g} s",
            expected=f"a task that ends within {look.within:g} s",
            got=look.reply.describe_task(),
            curl=look.curl,
            remedy=remedy,
        )
    return None


def never_cut(streamed: StreamRecord) -> Finding:
    """The stream was over, or refused, before it could be cut, so the claim could not be put to the test."""
    if streamed.error:
        return disproven(
            "the target says that it streams, and did not",
            expected=f"a stream of the answer to “{streamed.said}”",
            got=streamed.error,
            curl=streamed.curl,
        )
    return inconclusive(
        "the stream could not be cut in the middle",
        expected=f"an answer to “{streamed.said}” that comes in pieces, as news of a task",
        got=f"{len(streamed.pieces)} pieces{'' if streamed.task_id else ' of no task'}, then the end",
        curl=streamed.curl,
        hint="the target must stream its answer while it is being made",
    )


def never_caught(accepted: TurnRecord, look: TaskLook | None, asked: float, *, done: bool = False) -> Finding:
    """The turn was over before it was seen running, so the claim could not be put to the test.

    A target that had answered, or `done` its work, by then is only fast; one that let us wait for most of the seconds
    that it was `asked` to take is not, it has ignored that nobody waits.
    """
    finding = inconclusive(
        "no turn could be caught while it was running",
        expected=f"a task that is working while “{accepted.said}” is under way",
        got=look.reply.describe_task() if look else accepted.reply.describe(),
        curl=look.curl if look else accepted.curl,
        hint="the target must answer a send that does not wait with a task, and show it to get-task",
    )
    fast = accepted.seconds < asked / 2
    return replace(finding, absent=fast and (done or (look or accepted).reply.answered))


def in_progress(reply: TargetReply) -> bool:
    """Whether the task in a reply is being worked on."""
    return not reply.error and reply.state is not None and reply.state.running


def settled(reply: TargetReply) -> bool:
    """Whether the reply says anything of its task at all: its state, or that there is none."""
    return bool(reply.error) or reply.state is not None


def over(reply: TargetReply) -> bool:
    """Whether there is nothing more to wait for: the task has ended, or waits for its user, or cannot be looked up."""
    return bool(reply.error) or (reply.state is not None and not reply.state.running)


def _moved(turn: TurnRecord) -> str:
    """What to look at where a message was answered in another context than the one that it named."""
    answered_in = turn.reply.context_id
    if not turn.context_id or answered_in in (None, turn.context_id):
        return ""
    return f"the message named the context {turn.context_id}, and was answered in {answered_in}"
