"""A2A on the wire, in version 0.3 and 1.0: the methods, a message as it comes, a task and its news as they go."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from holdfast.prove.broken import workspace
from holdfast.prove.broken.messages import File, UserMessage, UserTask, UserWords
from holdfast.prove.broken.refusals import NO_METHOD, OTHER_VERSION, RpcRefusal

Version = Literal["0.3", "1.0"]
Operation = Literal["send", "stream", "get", "cancel", "subscribe"]


class Method(NamedTuple):
    """A method: the version that has it and what it does."""

    version: Version
    operation: Operation


METHODS = {
    "message/send": Method("0.3", "send"),
    "message/stream": Method("0.3", "stream"),
    "tasks/get": Method("0.3", "get"),
    "tasks/cancel": Method("0.3", "cancel"),
    "tasks/resubscribe": Method("0.3", "subscribe"),
    "SendMessage": Method("1.0", "send"),
    "SendStreamingMessage": Method("1.0", "stream"),
    "GetTask": Method("1.0", "get"),
    "CancelTask": Method("1.0", "cancel"),
    "SubscribeToTask": Method("1.0", "subscribe"),
}


def method(name: str, header: str) -> Method:
    """The method of that name, if it is one of the version in the header."""
    found = METHODS.get(name)
    if found is None:
        raise RpcRefusal(NO_METHOD, f"there is no method {name}")
    if (header or "0.3") != found.version:
        raise RpcRefusal(OTHER_VERSION, f"{name} is not a method of version {header or '0.3'}")
    return found


def waits(version: Version, params: Mapping[str, Any]) -> bool:
    """Whether the sender waits for the end of the turn."""
    configuration = params.get("configuration") or {}
    if version == "0.3":
        return bool(configuration.get("blocking", True))
    return not configuration.get("returnImmediately")


def message(params: Mapping[str, Any], folder: Path) -> UserMessage:
    """The message of either version; files that it refers to are read from the workspace folder."""
    sent = params["message"]
    parts = sent["parts"]
    text = "\n".join(part["text"] for part in parts if "text" in part)
    files = tuple(_file(part, folder) for part in parts if not part.keys().isdisjoint({"file", "raw", "url"}))
    return UserMessage(sent["messageId"], sent.get("contextId"), sent.get("taskId"), UserWords(text, files))


def _file(part: Mapping[str, Any], folder: Path) -> File:
    inner = part.get("file", part)
    content, uri = inner.get("bytes", inner.get("raw")), inner.get("uri", inner.get("url"))
    name = inner.get("name") or inner.get("filename") or str(uri or "file").rpartition("/")[2]
    media_type = inner.get("mimeType") or inner.get("mediaType")
    if content is not None:
        return File.of(name, base64.b64decode(content), media_type)
    if re.match(r"https?:", uri):
        return File(name, media_type or "application/octet-stream", 0, None)
    return File.of(name, workspace.read(folder, uri), media_type, by_reference=True)


def task(version: Version, shown: UserTask) -> dict[str, Any]:
    """A task; its answer is an artifact."""
    document = {
        "id": shown.task_id,
        "contextId": shown.context_id,
        "status": _status(version, shown),
        "artifacts": [_artifact(version, shown, shown.text)] if shown.text else [],
    }
    return {"kind": "task", **document} if version == "0.3" else document


def sent(version: Version, shown: UserTask) -> dict[str, Any]:
    """A task as the answer to a send, and as the first item of a stream."""
    return task(version, shown) if version == "0.3" else {"task": task(version, shown)}


def piece(version: Version, of: UserTask, text: str, *, first: bool) -> dict[str, Any]:
    """A piece of a task's answer as an item of a stream."""
    place = {"taskId": of.task_id, "contextId": of.context_id}
    update = {**place, "artifact": _artifact(version, of, text), "append": not first}
    return {"kind": "artifact-update", **update} if version == "0.3" else {"artifactUpdate": update}


def end(version: Version, ended: UserTask) -> dict[str, Any]:
    """The last item of a stream."""
    update = {"taskId": ended.task_id, "contextId": ended.context_id, "status": _status(version, ended)}
    return {"kind": "status-update", **update, "final": True} if version == "0.3" else {"statusUpdate": update}


def _status(version: Version, shown: UserTask) -> dict[str, Any]:
    if version == "0.3":
        return {"state": shown.state.value}
    return {"state": "TASK_STATE_" + shown.state.value.upper().replace("-", "_")}


def _artifact(version: Version, of: UserTask, text: str) -> dict[str, Any]:
    part = {"kind": "text", "text": text} if version == "0.3" else {"text": text}
    return {"artifactId": f"{of.task_id}-answer", "parts": [part]}
