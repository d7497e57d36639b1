"""A span of actions: a piece of work as two actions, one when it starts and one when it ends, with how long it took.

The second has the first as its parent. Only starting can fail: what the work returned or raised is never replaced by an
error of ours.
"""

import functools
import inspect
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeVar

from holdfast.core.errors import HoldfastError, InvalidInput, TooLarge

LONGEST_MESSAGE = 2_000

log = logging.getLogger("holdfast.client")

Function = TypeVar("Function", bound=Callable[..., Any])


class ActionLog(Protocol):
    """Logs an action and says its event id."""

    def __call__(self, type: str, details: Any = None, *, parent_id: str | None = None) -> str: ...


class ActionSpan:
    """A piece of work; `with` and `async with` both do. What is put into the dict they give is logged at the end."""

    def __init__(self, log_action: ActionLog, type: str, details: Any) -> None:
        self._log = log_action
        self._type = type
        self._started = {"status": "started"} if details is None else {"status": "started", "input": details}
        self._start_id = ""
        self._start_time = 0.0
        self._output: dict[str, Any] = {}

    def __enter__(self) -> dict[str, Any]:
        self._start_id = self._log(self._type, self._started)
        self._start_time = time.perf_counter()
        return self._output

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took = round((time.perf_counter() - self._start_time) * 1000, 3)
        ended: dict[str, Any] = {"status": "finished" if error is None else "failed", "durationMs": took}
        if error is not None:
            ended["error"] = {"type": type(error).__name__, "message": _message(error)}
        try:
            self._log_end(ended)
        except HoldfastError as failure:
            log.error("the end of %s could not be logged: %s", self._type, failure.message)

    async def __aenter__(self) -> dict[str, Any]:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _log_end(self, ended: dict[str, Any]) -> None:
        whole = ended | {"output": self._output} if self._output else ended
        try:
            self._log(self._type, whole, parent_id=self._start_id)
        except (InvalidInput, TooLarge) as refusal:
            self._log(self._type, ended | {"outputRefused": refusal.message}, parent_id=self._start_id)


def logged(function: Function, begin: Callable[[], ActionSpan]) -> Function:
    """The function, each call of it as a piece of work."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidInput(f"{function.__qualname__} is a generator", hint="use acting() inside it")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_later(*args: Any, **options: Any) -> Any:
            with begin():
                return await function(*args, **options)

        return call_later  # type: ignore[return-value]

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with begin():
            return function(*args, **options)

    return call  # type: ignore[return-value]


def _message(error: BaseException) -> str:
    return str(error)[:LONGEST_MESSAGE].encode(errors="backslashreplace").decode()
