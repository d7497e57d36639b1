"""A2A 1.0 on the wire: ProtoJSON, where a member's name says what it is, null means absent, and states shout."""

from typing import Any

from holdfast.a2a.protocol.shapes import without_none
from holdfast.a2a.protocol.v10_requests import (
    STATES,
    VERSION,
    PartShape,
    list_request,
    part_in,
    push_request,
    push_set,
    send_request,
    task_request,
)
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
    Role,
    Sent,
    StatusUpdate,
    TaskPage,
    TaskView,
    TextPart,
)
from holdfast.core.clock import to_iso

__all__ = [
    "NOTHING",
    "OPERATIONS",
    "VERSION",
    "PartShape",
    "artifact",
    "list_request",
    "message",
    "news",
    "page",
    "part",
    "part_in",
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
    "SendMessage": Operation.SEND,
    "SendStreamingMessage": Operation.STREAM,
    "GetTask": Operation.GET,
    "ListTasks": Operation.LIST,
    "CancelTask": Operation.CANCEL,
    "SubscribeToTask": Operation.SUBSCRIBE,
    "CreateTaskPushNotificationConfig": Operation.PUSH_SET,
    "GetTaskPushNotificationConfig": Operation.PUSH_GET,
    "ListTaskPushNotificationConfigs": Operation.PUSH_LIST,
    "DeleteTaskPushNotificationConfig": Operation.PUSH_DELETE,
    "GetExtendedAgentCard": Operation.EXTENDED_CARD,
}

ROLES = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}

NOTHING: dict[str, Any] = {}
"""The result of what has none."""


def sent(item: Sent) -> dict[str, Any]:
    """The result of `SendMessage`."""
    return news(item)


def news(item: News) -> dict[str, Any]:
    """An item of a stream."""
    match item:
        case TaskView():
            return {"task": task(item)}
        case Message():
            return {"message": message(item)}
        case StatusUpdate():
            return {"statusUpdate": _place(item) | {"status": _status(item)}}
        case ArtifactUpdate():
            document = _place(item) | {"artifact": artifact(item.artifact)}
            if item.append:
                document["append"] = True
            if item.last_chunk:
                document["lastChunk"] = True
            return {"artifactUpdate": document}


def pushed(item: News, view: TaskView) -> dict[str, Any]:
    """What is posted of a piece of news: the piece itself."""
    return news(item)


def task(view: TaskView) -> dict[str, Any]:
    """A task."""
    document: dict[str, Any] = {"id": view.task_id, "contextId": view.context_id, "status": _status(view)}
    if view.artifacts:
        document["artifacts"] = [artifact(item) for item in view.artifacts]
    if view.history:
        document["history"] = [message(item) for item in view.history]
    return document


def page(found: TaskPage) -> dict[str, Any]:
    """The result of `ListTasks`: every member is there, whatever its value."""
    return {
        "tasks": [task(view) for view in found.tasks],
        "nextPageToken": found.next_page_token,
        "pageSize": found.page_size,
        "totalSize": found.total_size,
    }


def push_config(task_id: str, config: PushConfig) -> dict[str, Any]:
    """Where a task's news are posted."""
    document: dict[str, Any] = {
        "taskId": task_id,
        "id": config.config_id or task_id,
        "url": config.url,
        "token": config.token,
    }
    if config.scheme is not None:
        document["authentication"] = without_none({"scheme": config.scheme, "credentials": config.credentials})
    return without_none(document)


def push_configs(task_id: str, configs: list[PushConfig]) -> dict[str, Any]:
    """The result of `ListTaskPushNotificationConfigs`."""
    return {"configs": [push_config(task_id, config) for config in configs]}


def message(item: Message) -> dict[str, Any]:
    """A message."""
    document: dict[str, Any] = {
        "messageId": item.message_id,
        "contextId": item.context_id,
        "taskId": item.task_id,
        "role": ROLES[item.role],
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
    members: dict[str, Any]
    match piece:
        case TextPart():
            members = {"text": piece.text}
        case DataPart():
            members = {"data": piece.data}
        case FilePart():
            members = without_none({"raw": piece.raw, "url": piece.url, "filename": piece.filename})
    return members | without_none({"mediaType": piece.media_type, "metadata": piece.metadata})


def _place(item: StatusUpdate | ArtifactUpdate) -> dict[str, Any]:
    return {"taskId": item.task_id, "contextId": item.context_id}


def _status(item: TaskView | StatusUpdate) -> dict[str, Any]:
    status: dict[str, Any] = {"state": STATES[item.state], "timestamp": to_iso(item.updated_at)}
    return status if item.message is None else status | {"message": message(item.message)}
