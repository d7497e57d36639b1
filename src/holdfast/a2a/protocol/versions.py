"""Which wire version a request speaks: its `A2A-Version` says so, and one that says nothing speaks 0.3."""

from collections.abc import Mapping
from typing import Any, Protocol

from holdfast.a2a.protocol import rpc, v03, v10
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import (
    News,
    Operation,
    PushConfig,
    PushRequest,
    SendRequest,
    Sent,
    TaskRequest,
    TaskView,
)

HEADER = "A2A-Version"


class A2AVersion(Protocol):
    """What a wire version must be able to do."""

    @property
    def VERSION(self) -> str:  # noqa: N802
        ...

    @property
    def OPERATIONS(self) -> Mapping[str, Operation]:  # noqa: N802
        """Its methods by name."""
        ...

    @property
    def NOTHING(self) -> dict[str, Any] | None:  # noqa: N802
        """The result of what has none."""
        ...

    def send_request(self, params: dict[str, Any]) -> SendRequest:
        """The params of a message to be answered."""
        ...

    def task_request(self, params: dict[str, Any]) -> TaskRequest:
        """The params of a question about a task."""
        ...

    def push_set(self, params: dict[str, Any]) -> tuple[str, PushConfig]:
        """The params of a wish to have a task's news posted."""
        ...

    def push_request(self, params: dict[str, Any]) -> PushRequest:
        """The params of a question about where a task's news are posted."""
        ...

    def send_result(self, item: Sent) -> dict[str, Any]:
        """The result of a message."""
        ...

    def news(self, item: News) -> dict[str, Any]:
        """An item of a stream."""
        ...

    def push_document(self, item: News, view: TaskView) -> dict[str, Any]:
        """What is posted of a piece of news, given the task as it then stands."""
        ...

    def task(self, view: TaskView) -> dict[str, Any]:
        """The result of a question about a task."""
        ...

    def push_config(self, task_id: str, config: PushConfig) -> dict[str, Any]:
        """Where a task's news are posted."""
        ...

    def push_configs(self, task_id: str, configs: list[PushConfig]) -> dict[str, Any] | list[dict[str, Any]]:
        """Everywhere that a task's news are posted."""
        ...


WIRES: Mapping[str, A2AVersion] = {v03.VERSION: v03, v10.VERSION: v10}


def version_of(text: str) -> str:
    """The version that a request names, without its last number; none is 0.3."""
    return ".".join(text.strip().split(".")[:2]) or v03.VERSION


def wire_for(version: str, method: str) -> A2AVersion:
    """The wire version that a request means; RpcError if we do not speak it, or it has no such method."""
    wire = WIRES.get(version_of(version))
    if wire is None:
        said = f"Version not supported: {version!r:.40}; we speak {' and '.join(WIRES)}"
        raise RpcError(rpc.VERSION_NOT_SUPPORTED, said, supportedVersions=",".join(WIRES))
    if method in wire.OPERATIONS:
        return wire
    elsewhere = next((other for other in WIRES if method in WIRES[other].OPERATIONS), None)
    if elsewhere == v10.VERSION:
        said = f"Version not supported: {method} needs the header {HEADER}: {elsewhere}"
        raise RpcError(rpc.VERSION_NOT_SUPPORTED, said, supportedVersions=",".join(WIRES))
    known = f"; it is one of version {elsewhere}" if elsewhere else ""
    raise RpcError(rpc.METHOD_NOT_FOUND, f"Method not found: {method!r:.80}{known}")
