"""What was seen of a history that was performed: all that a verdict is made of. Times are seconds since its start."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from holdfast.core import TaskState
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import Operation


class Fate(StrEnum):
    """What became of a message that was delivered, as far as its sender knows."""

    ANSWERED = "answered"
    EMPTY = "answered without words"
    FAILED = "failed"
    CANCELED = "canceled"
    REFUSED = "refused"
    BUSY = "put off"
    ASKED_BACK = "answered with a question"
    RUNNING = "running"
    CUT = "cut"
    SILENT = "not answered in time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When something was, and in which operation."""

    step: int
    began: float
    ended: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDelivery(Moment):
    """A message was delivered. It was *disturbed* if the target was stopped, killed or paused meanwhile.

    `readings` is the text in each way in which it can be read, where there is more than one. `states` are those in
    which its task was seen, one after the other. `early` says that its stream ended and its task had not.
    """

    message: int
    fate: Fate
    text: str = ""
    task: str | None = None
    state: TaskState | None = None
    error: str = ""
    disturbed: bool = False
    other: bool = False
    curl: str = ""
    readings: str = ""
    context_id: str | None = None
    states: tuple[TaskState, ...] = ()
    early: bool = False

    def __post_init__(self) -> None:
        if not self.readings:
            object.__setattr__(self, "readings", self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSeen(Moment):
    """A task was looked up, or canceled; `waited` says that its end was waited for as long as one should.

    It is *silent* if no answer came at all. `states` are those in which it was seen meanwhile.
    """

    message: int
    task: str
    state: TaskState | None
    text: str = ""
    error: str = ""
    waited: bool = False
    silent: bool = False
    canceled: bool = False
    disturbed: bool = False
    curl: str = ""
    context_id: str | None = None
    states: tuple[TaskState, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSeen(Moment):
    """A task was followed to the end of the stream, or as long as one should."""

    message: int
    task: str
    text: str
    states: tuple[TaskState, ...]
    error: str = ""
    late: bool = False
    disturbed: bool = False
    curl: str = ""
    context_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRefused(Moment):
    """A file was to be uploaded, and was not taken by a target that takes uploads."""

    message: int
    error: str
    disturbed: bool = False
    curl: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOffered(Moment):
    """The target does not offer what was to be done, so it was left out or done in another way."""

    what: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesSeen(Moment):
    """How often each line was in the file of the workspace, by its number."""

    counts: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCut(Moment):
    """The target was stopped or killed, and ready again at the end, unless there was trouble."""

    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt(Moment):
    """The target was paused, and went on at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEnd(Moment):
    """The target's process ended by itself."""

    words: str = ""


Seen = RecordedDelivery | TaskSeen | StreamSeen | UploadRefused | NotOffered | LinesSeen | PowerCut | Halt | OwnEnd


@dataclass(frozen=True, slots=True)
class Record:
    """A performance: the history with what was asked in addition, and all that was seen, in the order of its end."""

    course: Course
    seen: tuple[Seen, ...]
    tag: str = ""

    def operation(self, seen: Moment) -> Operation:
        """What was being done."""
        return self.course.operations[seen.step]

    def faults(self) -> list[Operation]:
        """The faults that were done."""
        return [self.operation(seen) for seen in self.seen if isinstance(seen, PowerCut | Halt)]
