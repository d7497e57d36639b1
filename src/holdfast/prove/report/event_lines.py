"""One line for each thing that happened: what was said, what was answered, what was killed."""

from typing import Any

from holdfast.core import strict_json
from holdfast.prove.report.run_record import Event, Step, dicts, text
from holdfast.prove.wire import replies
from holdfast.prove.wire.task_stream import TaskStream

MAX_LINE = 240
HEAD = frozenset({"n", "at", "proof", "step", "event"})
POWER = {
    "start": "started",
    "ready": "ready",
    "stop": "SIGTERM",
    "stopped": "stopped",
    "pause": "SIGSTOP",
    "resumed": "SIGCONT",
    "kill": "SIGKILL",
    "killed": "killed",
    "trouble": "trouble",
}


def of_event(event: Event) -> str:
    """What happened, for a reader."""
    kind = text(event.get("event"))
    if kind == "request":
        return _cut(_request(event))
    if kind == "answer":
        return _cut(_answer(event))
    if kind == "news":
        return _cut(_news(event))
    if kind in POWER:
        return _cut(_power(kind, event))
    if kind == "file":
        return _cut(_file(event))
    if kind == "fault":
        return _cut(text(event.get("message")))
    return _cut(", ".join(f"{name}: {text(value)}" for name, value in event.items() if name not in HEAD))


def of_step(step: Step) -> list[tuple[str, str]]:
    """The kinds and lines that tell a step: all of a short one, the first and the last two of one that went on."""
    lines = [(text(event.get("event")), of_event(event)) for event in step.events]
    if len(lines) <= 4:
        return lines
    return [*lines[:2], ("more", f"… and {len(lines) - 4} more, until"), *lines[-2:]]


def details(event: Event) -> dict[str, Any]:
    """All that an event says besides when and where."""
    return {name: value for name, value in event.items() if name not in HEAD and value not in (None, "")}


def _request(event: Event) -> str:
    body = event.get("body")
    if not isinstance(body, dict):
        return f"{text(event.get('method')) or 'POST'} {text(event.get('url'))}"
    params = body.get("params")
    message = params.get("message") if isinstance(params, dict) else None
    if not isinstance(message, dict):
        task = params.get("id") if isinstance(params, dict) else None
        return f"{text(body.get('method'))} {text(task)}"
    said = [_part(part) for part in dicts(message.get("parts"))]
    return " + ".join(said) or "a message without parts"


def _part(part: dict[str, Any]) -> str:
    if "text" in part:
        return f"“{text(part['text'])}”"
    file = part.get("file")
    inner = file if isinstance(file, dict) else part
    name = inner.get("name") or inner.get("filename") or inner.get("uri") or inner.get("url")
    return f"file {text(name) or 'without a name'}"


def _answer(event: Event) -> str:
    status, body = event.get("status"), event.get("body")
    number = status if isinstance(status, int) else 0
    if isinstance(body, dict) and ("result" in body or "error" in body):
        reply = replies.read(number, strict_json.encode(body))
        told = reply.describe() if reply.text or reply.error or reply.state is None else f"task {reply.state}"
    else:
        told = f"HTTP {text(status)}"
    seconds = event.get("seconds")
    return f"{told} ({seconds:.3f} s)" if isinstance(seconds, int | float) else told


def _news(event: Event) -> str:
    heard = TaskStream()
    heard.take(200, strict_json.encode(event.get("body")))
    said = [f"“{piece}”" for piece in heard.pieces] + [f"task {state}" for state in heard.states]
    return heard.error or ", ".join(said) or "an event without text"


def _power(kind: str, event: Event) -> str:
    pid, seconds, trouble = event.get("pid"), event.get("seconds"), text(event.get("trouble"))
    done = text(event.get("command")) or POWER[kind]
    told = f"{done}: {trouble}" if trouble else done
    told += f", pid {text(pid)}" if pid and kind != "start" else ""
    return told + (f" after {seconds:.2f} s" if isinstance(seconds, int | float) else "")


def _file(event: Event) -> str:
    if "line" not in event:
        return ", ".join(f"{name}: {text(value)}" for name, value in details(event).items())
    count = event.get("count")
    found = "cannot be read" if count is None else f"has the line {text(count)} times"
    return f"{text(event.get('path')) or 'the workspace'} {found}: {text(event.get('line'))}"


def _cut(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…"
