"""The recorded history of one proof: what was done to the target, and what was seen, in order.

A checker reads nothing but this, so a verdict can be reached again from the evidence alone.
"""

from dataclasses import dataclass
from typing import Any, Literal

from holdfast.core import TaskState
from holdfast.prove.runtime.peer import PeerQuestion
from holdfast.prove.wire.replies import TargetReply


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A message that was sent and the reply that came; the context is empty if the message named only a task."""

    step: str
    context_id: str
    said: str
    reply: TargetReply
    seconds: float
    curl: str
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream of a task's news, of a message that was sent or of a subscription (`said` is empty then).

    `pieces` are the texts in the order they came, `text` is the answer that they amount to. `ended` says that the
    target brought the stream to its end; else it was cut, by us or because the time was up. `error` is empty unless
    the stream was refused, or did not end in time.
    """

    step: str
    context_id: str
    said: str
    task_id: str | None
    pieces: tuple[str, ...]
    text: str
    states: tuple[TaskState, ...]
    ended: bool
    error: str
    seconds: float
    curl: str


@dataclass(frozen=True, slots=True)
class TaskLook:
    """A question for a task's state, or the wish to cancel it, and the reply that came.

    `within` is how long one was ready to ask, `at` is when the reply came, in seconds of a clock that only runs on.
    """

    step: str
    task_id: str
    reply: TargetReply
    within: float
    curl: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Power:
    """The target was started, stopped, killed or paused; `trouble` says what went wrong, if anything.

    `at` is when that began, on the clock that a look's `at` is on.
    """

    step: str
    action: Literal["start", "stop", "kill", "pause"]
    seconds: float
    trouble: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class FileLook:
    """How often a line is in a file of the target's workspace; `count` is None where the file cannot be read.

    `at` is when that was seen, on the clock that a task's look is on.
    """

    step: str
    path: str
    line: str
    count: int | None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class FileSeed:
    """A file that was put into the target's workspace."""

    step: str
    path: str


@dataclass(frozen=True, slots=True)
class UploadRecord:
    """A file that was handed to the target's uploads; `uri` is None where it takes none."""

    step: str
    name: str
    uri: str | None
    error: str
    curl: str


@dataclass(frozen=True, slots=True)
class PeerQuestions:
    """What the peer was asked so far."""

    step: str
    questions: tuple[PeerQuestion, ...]


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A GET and what came: `document` is the JSON object in it, None if there is none."""

    step: str
    url: str
    status: int
    start_of_body: str
    document: dict[str, Any] | None
    curl: str = ""


Entry = TurnRecord | StreamRecord | TaskLook | Power | FileLook | FileSeed | UploadRecord | PeerQuestions | FetchedPage


class History:
    """One proof's entries, looked up by step. A step that was not taken has no entry.

    Of a step that something cut short nothing can be said, not even that it was not taken: whoever looks it up gets a
    LookupError.
    """

    def __init__(self, *entries: Entry) -> None:
        self.entries: list[Entry] = list(entries)
        self._cut: set[str] = set()

    def add(self, entry: Entry) -> None:
        """Record what just happened."""
        self.entries.append(entry)
        self._cut.discard(entry.step)

    def cut_short(self, step: str) -> None:
        """Record that the step was begun, and that something came in its way."""
        self._cut.add(step)

    def without_failed_start(self) -> "History":
        """The same, but for a first start that failed: that is no restart which the target did not survive."""
        failed = [power for power in self.starts() if power.step == "start" and power.trouble]
        kept = History(*(entry for entry in self.entries if entry not in failed))
        kept._cut = set(self._cut)
        return kept

    def took(self, step: str) -> bool:
        """Whether the step was taken at all."""
        return bool(self._of(step))

    def turn(self, step: str) -> TurnRecord:
        """The turn of a step."""
        return next(entry for entry in self._of(step) if isinstance(entry, TurnRecord))

    def turns(self, start: str) -> list[TurnRecord]:
        """The turns of all steps whose names begin so, in order."""
        return [entry for entry in self.entries if isinstance(entry, TurnRecord) and entry.step.startswith(start)]

    def streamed(self, step: str) -> StreamRecord:
        """The stream of a step."""
        return next(entry for entry in self._of(step) if isinstance(entry, StreamRecord))

    def look(self, step: str) -> TaskLook | None:
        """The newest sight of a task in a step, if it was taken."""
        looks = (entry for entry in reversed(self._of(step)) if isinstance(entry, TaskLook))
        return next(looks, None)

    def last_look(self, step: str) -> TaskLook:
        """The newest sight of a task in a step."""
        look = self.look(step)
        assert look is not None
        return look

    def first_look(self, step: str) -> TaskLook:
        """The oldest sight of a task in a step."""
        return next(entry for entry in self._of(step) if isinstance(entry, TaskLook))

    def power(self, step: str) -> Power:
        """The start, stop or kill of a step."""
        return next(entry for entry in self._of(step) if isinstance(entry, Power))

    def last_power(self) -> Power:
        """What was done to the target last."""
        return next(entry for entry in reversed(self.entries) if isinstance(entry, Power))

    def starts(self) -> list[Power]:
        """Every start of the target, in order."""
        return [entry for entry in self.entries if isinstance(entry, Power) and entry.action == "start"]

    def file(self, step: str) -> FileLook:
        """What a step saw in the workspace."""
        return next(entry for entry in self._of(step) if isinstance(entry, FileLook))

    def last_file(self, step: str) -> FileLook:
        """What a step that looks again and again saw last in the workspace."""
        return next(entry for entry in reversed(self._of(step)) if isinstance(entry, FileLook))

    def uploaded(self, step: str) -> UploadRecord:
        """The upload of a step."""
        return next(entry for entry in self._of(step) if isinstance(entry, UploadRecord))

    def asked(self, step: str) -> PeerQuestions:
        """What the peer had been asked by a step."""
        return next(entry for entry in self._of(step) if isinstance(entry, PeerQuestions))

    def looks_at_peer(self, step: str) -> list[PeerQuestions]:
        """Every look at the peer in a step, in order."""
        return [entry for entry in self._of(step) if isinstance(entry, PeerQuestions)]

    def pages(self) -> list[FetchedPage]:
        """Every GET, in order."""
        return [entry for entry in self.entries if isinstance(entry, FetchedPage)]

    def _of(self, step: str) -> list[Entry]:
        if step in self._cut:
            raise LookupError(f"the step {step!r} was cut short")
        return [entry for entry in self.entries if entry.step == step]
