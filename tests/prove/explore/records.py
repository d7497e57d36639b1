"""Records written by hand, for the tests of the model and the checker."""

from collections.abc import Sequence
from typing import Any

from holdfast.core import TaskState
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import (
    Append,
    Ask,
    AskFile,
    Kill,
    Operation,
    Recall,
    Save,
    SendFile,
    Tell,
)
from holdfast.prove.explore.histories.values import Form, draw
from holdfast.prove.explore.record import (
    Fate,
    LinesSeen,
    PowerCut,
    Record,
    RecordedDelivery,
    Seen,
    StreamSeen,
    TaskSeen,
)

SEED = 7


def word(number: int, form: Form = Form.WORD) -> str:
    """The value of that number, as an answer would tell it."""
    return draw(SEED, number, form).text


class Script:
    """Builds a record step by step, a second each unless it is said otherwise."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.seen: list[Seen] = []
        self.now = 0.0

    def record(self) -> Record:
        return Record(Course(seed=SEED, number=0, operations=tuple(self.operations)), tuple(self.seen), "tag")

    def tell(self, message: int, *, context: int = 0, fact: int = 0, value: int | None = None, **more: Any) -> None:
        own = {name: more.pop(name) for name in ("form", "how", "slow", "follows") if name in more}
        value = message if value is None else value
        self._send(Tell(message=message, context=context, fact=fact, value=value, **own), "Noted.", **more)

    def ask(self, message: int, answer: str, *, context: int = 0, fact: int = 0, **more: Any) -> None:
        self._send(Ask(message=message, context=context, fact=fact), answer, **more)

    def send_file(self, message: int, *, context: int = 0, file: int = 1, **more: Any) -> None:
        self._send(SendFile(message=message, context=context, file=file, value=message), "Got it.", **more)

    def ask_file(self, message: int, answer: str, *, context: int = 0, file: int = 1, **more: Any) -> None:
        self._send(AskFile(message=message, context=context, file=file), answer, **more)

    def save(self, message: int, *, context: int = 0, fact: int = 0, **more: Any) -> None:
        self._send(Save(message=message, context=context, fact=fact, value=message), "Saved.", **more)

    def recall(self, message: int, answer: str, *, context: int = 0, fact: int = 0, **more: Any) -> None:
        self._send(Recall(message=message, context=context, fact=fact), answer, **more)

    def append(self, message: int, **more: Any) -> None:
        self._send(Append(message=message, context=0), "Appended.", **more)

    def send(self, operation: Operation, answer: str = "Fine.", **more: Any) -> None:
        self._send(operation, answer, **more)

    def deliver(self, message: int, text: str = "Noted.", **more: Any) -> None:
        """Another delivery of a message, in a step of its own that was added before."""
        self.seen.append(self._delivery(message, text, **more))

    def do(self, operation: Operation) -> None:
        """An operation of which nothing is seen."""
        self.operations.append(operation)

    def kill(self, trouble: str = "", operation: Operation | None = None) -> None:
        self.operations.append(operation or Kill())
        self.seen.append(PowerCut(**self._moment(), trouble=trouble))

    def look(
        self,
        message: int,
        state: TaskState | None,
        text: str = "",
        *,
        task: str = "t",
        at: tuple[float, float] | None = None,
        **more: Any,
    ) -> None:
        self.seen.append(TaskSeen(**self._moment(at), message=message, task=task, state=state, text=text, **more))

    def follow(self, message: int, text: str, states: Sequence[TaskState], **more: Any) -> None:
        self.seen.append(
            StreamSeen(**self._moment(), message=message, task="t", text=text, states=tuple(states), **more)
        )

    def lines(self, **counts: int) -> None:
        """How often the lines of messages are in the file: `m1=1` is the line of message 1, once."""
        self.seen.append(LinesSeen(**self._moment(), counts={int(name[1:]): count for name, count in counts.items()}))

    def _send(self, operation: Operation, answer: str, **more: Any) -> None:
        self.operations.append(operation)
        message: int = getattr(operation, "message", 0)
        self.seen.append(self._delivery(message, answer, **more))

    def _delivery(
        self, message: int, text: str, *, at: tuple[float, float] | None = None, **more: Any
    ) -> RecordedDelivery:
        moment = self._moment(at)
        fate = more.pop("fate", Fate.ANSWERED)
        state = more.pop("state", TaskState.COMPLETED if fate is Fate.ANSWERED else None)
        shown = text if fate is Fate.ANSWERED else more.pop("text", "")
        task = more.pop("task", f"t{message}")
        return RecordedDelivery(**moment, message=message, fate=fate, text=shown, state=state, task=task, **more)

    def _moment(self, at: tuple[float, float] | None = None) -> dict[str, Any]:
        began, ended = at or (self.now, self.now + 1)
        self.now = max(self.now, ended)
        return {"step": max(len(self.operations) - 1, 0), "began": began, "ended": ended}
