"""What both wire versions write under the same names: messages, artifacts, tasks and their statuses.

A version spells parts, roles and states in its own way, and 0.3 says in every object of what kind it is. Neither writes
null for what is absent.
"""

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.a2a.protocol.wire import Artifact, ArtifactUpdate, Message, Part, PushConfig, Role, StatusUpdate, TaskView
from holdfast.core import TaskState
from holdfast.core.clock import to_iso

Document = dict[str, Any]


class DocumentWriter:
    """Writes in the spelling of one version; with `kinds`, each document says its kind."""

    def __init__(
        self,
        part: Callable[[Part], Document],
        roles: Mapping[Role, str],
        states: Mapping[TaskState, str],
        *,
        kinds: bool = False,
    ) -> None:
        self._part = part
        self._roles = roles
        self._states = states
        self._kinds = kinds

    def task(self, view: TaskView) -> Document:
        document = self._of_kind("task") | {"id": view.task_id, "contextId": view.context_id}
        document["status"] = self.status(view)
        if view.artifacts:
            document["artifacts"] = [self.artifact(item) for item in view.artifacts]
        if view.history:
            document["history"] = [self.message(item) for item in view.history]
        return document

    def message(self, item: Message) -> Document:
        return self._of_kind("message") | without_none(
            {
                "messageId": item.message_id,
                "contextId": item.context_id,
                "taskId": item.task_id,
                "role": self._roles[item.role],
                "parts": [self._part(piece) for piece in item.parts],
                "referenceTaskIds": list(item.reference_task_ids) or None,
                "metadata": item.metadata,
                "extensions": list(item.extensions) or None,
            }
        )

    def artifact(self, item: Artifact) -> Document:
        return without_none(
            {
                "artifactId": item.artifact_id,
                "name": item.name,
                "description": item.description,
                "parts": [self._part(piece) for piece in item.parts],
                "metadata": item.metadata,
            }
        )

    def status(self, item: TaskView | StatusUpdate) -> Document:
        """The status of a task."""
        status: Document = {"state": self._states[item.state], "timestamp": to_iso(item.updated_at)}
        return status if item.message is None else status | {"message": self.message(item.message)}

    def update(self, item: StatusUpdate | ArtifactUpdate, kind: str) -> Document:
        """How an update begins: of which task it is."""
        return self._of_kind(kind) | {"taskId": item.task_id, "contextId": item.context_id}

    def _of_kind(self, kind: str) -> Document:
        return {"kind": kind} if self._kinds else {}


def push_members(task_id: str, config: PushConfig, scheme: Document) -> Document:
    """Where a task's news are posted, with the scheme of the credentials as a version spells it."""
    document: Document = {"id": config.config_id or task_id, "url": config.url, "token": config.token}
    if config.scheme is not None:
        document["authentication"] = without_none(scheme | {"credentials": config.credentials})
    return without_none(document)


def without_none(members: Document) -> Document:
    """The members that are there."""
    return {name: value for name, value in members.items() if value is not None}
