"""Tasks, on the wire: those that wait for a person, what they ask, and answers to them."""

from typing import Annotated

from msgspec import Meta, Struct

from holdfast.gateway.wire.types import Body, OwnName, Time


class TaskInfo(Struct, rename="camel"):
    """A task, which is one turn; `question` is what it asks back, word for word, while it waits for an answer."""

    task_id: str
    session_id: str
    context_id: str
    key: str | None
    state: str
    question: str | None
    created_at: Time
    updated_at: Time
    version: int


class TaskInfoList(Struct):
    """Tasks, the last changed first; `cursor` asks for the next page, null at the end."""

    tasks: list[TaskInfo]
    cursor: str | None


class TaskAnswer(Body):
    """An answer to a task that waits for one; with `expectedVersion`, to the question that it asked in that version."""

    text: Annotated[str, Meta(min_length=1)]
    idempotency_key: OwnName | None = None
    expected_version: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None


class AnsweredTask(Struct, rename="camel"):
    """The task as it stood when its answer was recorded, or stands since."""

    task_id: str
    session_id: str
    state: str
    version: int
