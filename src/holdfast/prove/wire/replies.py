"""What came back from a target, read leniently: a target's mistakes must show, not raise.

A JSON-RPC error, a refused HTTP request and an unreadable body are all *failed replies*: they are answers of
the target and count against it. A connection that breaks is not a reply at all (see `wire`).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.core import TaskState
from holdfast.core.redact import redact

FAILURES = frozenset({TaskState.FAILED, TaskState.REJECTED, TaskState.CANCELED})


@dataclass(frozen=True, slots=True)
class TargetReply:
    """The readable part of one answer. `error` is empty unless the reply failed.

    Nobody can tell pieces of one text from texts that stand side by side: `variant` is the answer with the parts of
    its artifacts put together the other way, where that makes a difference.
    """

    text: str = ""
    state: TaskState | None = None
    task_id: str | None = None
    context_id: str | None = None
    error: str = ""
    variant: str = ""

    @property
    def readings(self) -> str:
        """The answer in each way in which it can be read, to look for a word in."""
        return f"{self.text}\n{self.variant}" if self.variant else self.text

    @property
    def answered(self) -> bool:
        """Whether this is the answer to a turn: some text, from a turn that did not fail."""
        return not self.error and bool(self.text.strip()) and self.state not in FAILURES

    def describe(self) -> str:
        """One line for a reader: the error, else the text in quotes and the state."""
        if self.error:
            return self.error
        text = json.dumps(shorten(self.text), ensure_ascii=False) if self.text.strip() else "an empty answer"
        if self.state in (None, TaskState.COMPLETED):
            return text
        return f"{text} (task {self.state})"

    def describe_task(self) -> str:
        """One line for a reader of a get-task: the error, else the state."""
        return self.error or f"a task that is {self.state or 'in no known state'}"


def parse(body: bytes) -> Any:
    """The JSON value of a body, with what no encoding can write (lone surrogates) replaced; else ValueError."""
    try:
        document = json.loads(body)
        return json.loads(json.dumps(document, ensure_ascii=False).encode(errors="replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read(status: int, body: bytes) -> TargetReply:
    """The reply in an HTTP answer of any kind."""
    result = result_in(status, body)
    return TargetReply(error=result) if isinstance(result, str) else _read_result(result)


def result_in(status: int, body: bytes) -> dict[str, Any] | str:
    """The result of a JSON-RPC answer, or in words why there is none."""
    try:
        document = parse(body)
    except ValueError:
        return f"HTTP {status} with a body that is not JSON: {shorten(body.decode(errors='replace'))!r}"
    if not isinstance(document, dict):
        return f"HTTP {status} with JSON that is not an object: {shorten(str(document))}"
    if document.get("error") is not None:
        return _describe_error(document["error"])
    result = document.get("result")
    if not isinstance(result, dict):
        return f"HTTP {status} with neither a result nor an error: {shorten(str(document))}"
    return result


def _read_result(result: dict[str, Any]) -> TargetReply:
    inner = next((result[key] for key in ("task", "message") if isinstance(result.get(key), dict)), result)
    status = inner.get("status")
    status = status if isinstance(status, dict) else {}
    # A bare or wrapped Message has no status and names, at most, the task that it belongs to.
    task_id = inner.get("id") if status else inner.get("taskId")
    text, variant = ("\n".join(_texts(inner, status, between)) for between in ("\n", ""))
    return TargetReply(
        text=text,
        state=task_state(status.get("state")),
        task_id=_name(task_id),
        context_id=_name(inner.get("contextId")),
        variant=variant if variant != text else "",
    )


def task_state(word: object) -> TaskState | None:
    """The state in the spelling of either wire version; None for what neither knows.

    A task that wants credentials waits for its user like one that wants an answer.
    """
    if not isinstance(word, str):
        return None
    plain = word.lower().removeprefix("task_state_").replace("_", "-").replace("cancelled", "canceled")
    if plain == "auth-required":
        return TaskState.INPUT_REQUIRED
    return next((state for state in TaskState if state.value == plain), None)


def _texts(inner: dict[str, Any], status: dict[str, Any], between: str) -> Iterator[str]:
    """The texts of an answer in the order of looking: its parts, its artifacts, its status message.

    An artifact that was streamed has its pieces as parts, so its parts are put together with what is asked for.
    """
    yield from part_texts(inner)
    artifacts = inner.get("artifacts")
    for artifact in artifacts if isinstance(artifacts, list) else []:
        if texts := list(part_texts(artifact)):
            yield between.join(texts)
    yield from part_texts(status.get("message"))


def part_texts(holder: object) -> Iterator[str]:
    """The texts in the parts of a message or an artifact; data is told as its JSON."""
    parts = holder.get("parts") if isinstance(holder, dict) else None
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
        elif isinstance(part, dict) and part.get("data"):
            yield json.dumps(part["data"], ensure_ascii=False)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _describe_error(error: object) -> str:
    if isinstance(error, dict):
        return f"JSON-RPC error {error.get('code')}: {shorten(str(error.get('message')))}"
    return f"JSON-RPC error: {shorten(str(error))}"


def shorten(text: str, length: int = 200) -> str:
    """The beginning of a text, without its secrets: they go first, so that no cut leaves half of one."""
    text = redact(text)
    return text if len(text) <= length else text[: length - 1] + "…"
