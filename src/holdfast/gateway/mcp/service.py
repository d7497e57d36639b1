"""What the tools ask: one request to the gateway's routes, and the bytes of its answer.

However it is asked, an answer that is larger than was said is refused while it comes, and every refusal of the gateway
is an error that carries the problem as it came.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from holdfast.core import HoldfastError, strict_json
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name

MOST_BYTES = 2 * 1024 * 1024
"""Of an answer: whoever reads it by a model has no use for more, and the gateway encodes it in one piece."""
MOST_VALUES = 50_000
"""Arrays and objects of an answer or a call, for the same reason: each takes as long as many bytes do."""
STEP = re.compile(r"[^/\x00-\x1f\x7f]+\Z")


class AnswerTooLarge(HoldfastError):
    """The answer has more bytes than a tool gives back; nothing is wrong with what was asked for."""

    code = "answer_too_large"
    status = 413
    hint = "ask for less: a smaller limit, or one event; the REST routes give back what is this large"


class RouteRefusal(HoldfastError):
    """The gateway's own refusal, as it came."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(str(problem.get("detail", "the gateway refused")), hint=problem.get("hint"))
        self.problem: dict[str, Any] = problem


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """A request to a route. Parameters of the query that are None are left out; a body of None is none."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    key: str | None = None
    """The idempotency key, if there is one."""
    slow: bool = False
    """Whether it may take as long as it takes."""
    most_bytes: int = MOST_BYTES

    @property
    def changes(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET"

    def parameters(self) -> list[tuple[str, Any]]:
        """The query, a list as several parameters of one name."""
        found = [(name, each) for name, given in self.query.items() for each in _several(given)]
        return [(name, each if isinstance(each, str) else strict_json.dump(each).decode()) for name, each in found]

    def content(self) -> bytes:
        """The body's bytes."""
        return b"" if self.body is None else strict_json.dump(self.body)


class SessionService(Protocol):
    """A gateway, however it is reached, as one caller."""

    async def ask(self, request: RouteRequest) -> bytes:
        """The JSON of a good answer; RouteRefusal or AnswerTooLarge."""
        ...


def only_given(members: Mapping[str, Any]) -> dict[str, Any]:
    """A body without the members that are None: they were left out."""
    return {name: given for name, given in members.items() if given is not None}


def path(template: str, *steps: str) -> str:
    """A route's path with names in its braces; InvalidInput for a name that would lead to another route."""
    for step in steps:
        check_name(step, "a name in a path")
        if step in {".", ".."} or not STEP.match(step):
            raise InvalidInput(f"{step!r:.80} cannot be part of a path", hint="such names are written over REST alone")
    return template.format(*steps)


def count_of(raw: bytes) -> int:
    """How many arrays and objects JSON bytes have at most."""
    return raw.count(b"{") + raw.count(b"[")


def too_large(most: int) -> AnswerTooLarge:
    """The refusal of an answer that has more bytes than these."""
    return AnswerTooLarge(f"the answer has more than {most} bytes", limit=most)


def _several(given: Any) -> list[Any]:
    values = given if isinstance(given, list) else [given]
    return [each for each in values if each is not None]
