"""A2A 0.3 on the wire: a `kind` in every object, states in small letters, a result that is the bare task."""

from typing import Any

from holdfast.a2a.protocol.shapes import without_none
from holdfast.a2a.protocol.v03_requests import BOXED, VERSION, push_request, push_set, send_request, task_request
from holdfast.a2a.protocol.wire import (
    Artifact,
    ArtifactUpdate,
    DataPart,
    FilePart,
    Message,
    News,
    Operation,
    Part,
    PushConfig,
    Sent,
    StatusUpdate,
    TaskView,
    TextPart,
)
from holdfast.core.clock import to_iso

__all__ = [
    "NOTHING",
    "OPERATIONS",
    "VERSION",
    "artifact",
    "message",
    "news",
    "part",
    "push_config",
    "push_configs",
    "push_request",
    "push_set",
    "pushed",
    "send_request",
    "sent",
    "task",
    "task_request",
]

OPERATIONS = {
    "message/send": Operation.SEND,
    "message/stream": Operation.STREAM,
    "tasks/get": Operation.GET,
    "tasks/cancel": Operation.CANCEL,
    "tasks/resubscribe": Operation.SUBSCRIBE,
    "tasks/pushNotificationConfig/set": Operation.PUSH_SET,
    "tasks/pushNotificationConfig/get": Operation.PUSH_GET,
    "tasks/pushNotificationConfig/list": Operation.PUSH_LIST,
    "tasks/pushNotificationConfig/delete": Operation.PUSH_DELETE,
    "agent/getAuthenticatedExtendedCard": Operation.EXTENDED_CARD,
}

NOTHING = None
"""The result of what has none."""


def sent(item: Sent) -> dict[str, Any]:
    """The result of `message/send`."""
    return news(item)


def news(item: News) -> dict[str, Any]:
    """An item of a stream."""
    match item:
        case TaskView():
            return task(item)
        case Message():
            return message(item)
        case StatusUpdate():
            return _about(item, "status-update") | {"status": _status(item), "final": item.final}
        case ArtifactUpdate():
            members = {"artifact": artifact(item.artifact), "append": item.append, "lastChunk": item.last_chunk}
            return _about(item, "artifact-update") | members


def pushed(item: News, view: TaskView) -> dict[str, Any]:
    """What is posted of a piece of news: the task as it then stands."""
    return task(view)


def task(view: TaskView) -> dict[str, Any]:
    """A task."""
    document: dict[str, Any] = {"kind": "task", "id": view.task_id, "contextId": view.context_id}
    document["status"] = _status(view)
    if view.artifacts:
        document["artifacts"] = [artifact(item) for item in view.artifacts]
    if view.history:
        document["history"] = [message(item) for item in view.history]
    return document


def push_config(task_id: str, config: PushConfig) -> dict[str, Any]:
    """Where a task's news are posted."""
    document: dict[str, Any] = {"id": config.config_id or task_id, "url": config.url, "token": config.token}
    if config.scheme is not None:
        document["authentication"] = without_none({"schemes": [config.scheme], "credentials": config.credentials})
    return {"taskId": task_id, "pushNotificationConfig": without_none(document)}


def push_configs(task_id: str, configs: list[PushConfig]) -> list[dict[str, Any]]:
    """The result of `tasks/pushNotificationConfig/list`."""
    return [push_config(task_id, config) for config in configs]


def message(item: Message) -> dict[str, Any]:
    """A message."""
    document: dict[str, Any] = {
        "kind": "message",
        "messageId": item.message_id,
        "role": item.role.value,
        "contextId": item.context_id,
        "taskId": item.task_id,
        "parts": [part(piece) for piece in item.parts],
        "referenceTaskIds": list(item.reference_task_ids) or None,
        "metadata": item.metadata,
        "extensions": list(item.extensions) or None,
    }
    return without_none(document)


def artifact(item: Artifact) -> dict[str, Any]:
    """An artifact."""
    document: dict[str, Any] = {
        "artifactId": item.artifact_id,
        "name": item.name,
        "description": item.description,
        "parts": [part(piece) for piece in item.parts],
        "metadata": item.metadata,
    }
    return without_none(document)


def part(piece: Part) -> dict[str, Any]:
    """A part."""
    document: dict[str, Any]
    metadata = piece.metadata
    match piece:
        case TextPart():
            document = {"kind": "text", "text": piece.text}
        case DataPart() if isinstance(piece.data, dict):
            document = {"kind": "data", "data": piece.data}
        case DataPart():
            document = {"kind": "data", "data": {"value": piece.data}}
            metadata = (metadata or {}) | {BOXED: True}
        case FilePart():
            members = {
                "bytes": piece.raw,
                "uri": piece.url,
                "name": piece.filename,
                "mimeType": piece.media_type,
            }
            document = {"kind": "file", "file": without_none(members)}
    return document if metadata is None else document | {"metadata": metadata}


def _about(item: StatusUpdate | ArtifactUpdate, kind: str) -> dict[str, Any]:
    return {"kind": kind, "taskId": item.task_id, "contextId": item.context_id}


def _status(item: TaskView | StatusUpdate) -> dict[str, Any]:
    status: dict[str, Any] = {"state": item.state.value, "timestamp": to_iso(item.updated_at)}
    return status if item.message is None else status | {"message": message(item.message)}
