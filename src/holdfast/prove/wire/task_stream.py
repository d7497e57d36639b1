"""What a stream amounts to, read leniently: its events in either version, put together as a client would.

A task that is told whole replaces what was known of it; a piece of an artifact is added to it or takes its place.
"""

from typing import Any

from holdfast.core import TaskState
from holdfast.prove.wire.replies import part_texts, result_in, task_state

WRAPPERS = ("task", "message", "statusUpdate", "artifactUpdate")


class TaskStream:
    """What one stream has told so far."""

    def __init__(self) -> None:
        self.task_id: str | None = None
        self.context_id: str | None = None
        self.pieces: list[str] = []
        self.states: list[TaskState] = []
        self.error = ""
        self._artifacts: dict[str, list[str]] = {}
        self._said = ""

    @property
    def text(self) -> str:
        """The answer so far: the artifacts, then the words of the status."""
        return self._put_together("")

    @property
    def variant(self) -> str:
        """The answer with the pieces of its artifacts side by side, where that makes a difference."""
        variant = self._put_together("\n")
        return variant if variant != self.text else ""

    def _put_together(self, between: str) -> str:
        return "\n".join(filter(None, [*map(between.join, self._artifacts.values()), self._said]))

    def take(self, status: int, body: bytes) -> None:
        """Read one event; one that is an error stays."""
        result = result_in(status, body)
        if isinstance(result, str):
            self.error = result
            return
        told = next((result[key] for key in WRAPPERS if isinstance(result.get(key), dict)), result)
        if isinstance(told.get("contextId"), str) and told["contextId"]:
            self.context_id = told["contextId"]
        if isinstance(told.get("artifact"), dict):
            self._name_task(told.get("taskId"))
            self._take_artifact(told["artifact"], append=told.get("append") is True)
        elif isinstance(told.get("status"), dict):
            whole = "id" in told
            self._name_task(told["id"] if whole else told.get("taskId"))
            if whole:
                self._take_task(told)
            self._take_status(told["status"])
        else:
            self._name_task(told.get("taskId"))
            self._said = "\n".join(self._heard(told))

    def _take_task(self, task: dict[str, Any]) -> None:
        self._artifacts = {}
        artifacts = task.get("artifacts")
        for artifact in artifacts if isinstance(artifacts, list) else []:
            if isinstance(artifact, dict):
                self._take_artifact(artifact, append=False)

    def _take_artifact(self, artifact: dict[str, Any], *, append: bool) -> None:
        name = str(artifact.get("artifactId", ""))
        texts = self._heard(artifact)
        self._artifacts[name] = self._artifacts.get(name, []) + texts if append else texts

    def _take_status(self, status: dict[str, Any]) -> None:
        state = task_state(status.get("state"))
        if state is not None and (not self.states or self.states[-1] is not state):
            self.states.append(state)
        self._said = "\n".join(self._heard(status.get("message")))

    def _heard(self, holder: object) -> list[str]:
        texts = [text for text in part_texts(holder) if text]
        self.pieces += texts
        return texts

    def _name_task(self, task_id: object) -> None:
        if isinstance(task_id, str) and task_id:
            self.task_id = task_id
