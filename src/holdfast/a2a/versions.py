"""Which wire version a request speaks: its `A2A-Version` says so, and one that says nothing speaks 0.3."""

from collections.abc import Mapping
from typing import Any, Protocol

from holdfast.a2a import rpc, v03, v10
from holdfast.a2a.rpc import RpcError
from holdfast.a2a.wire import Operation, SendRequest, TaskRequest, TaskView

HEADER = "A2A-Version"


class Wire(Protocol):
    """What a wire version must be able to do."""

    @property
    def OPERATIONS(self) -> Mapping[str, Operation]:  # noqa: N802
        """Its methods by name."""
        ...

    def send_request(self, params: dict[str, Any]) -> SendRequest:
        """The params of a message to be answered."""
        ...

    def task_request(self, params: dict[str, Any]) -> TaskRequest:
        """The params of a question about a task."""
        ...

    def sent(self, view: TaskView) -> dict[str, Any]:
        """The result of a message."""
        ...

    def task(self, view: TaskView) -> dict[str, Any]:
        """The result of a question about a task."""
        ...


WIRES: Mapping[str, Wire] = {"0.3": v03, "1.0": v10}


def wire_for(version: str, method: str) -> Wire:
    """The wire version that a request means; RpcError if we do not speak it, or it has no such method."""
    asked = ".".join(version.strip().split(".")[:2]) or "0.3"
    wire = WIRES.get(asked)
    if wire is None:
        said = f"Version not supported: {version!r:.40}; we speak {' and '.join(WIRES)}"
        raise RpcError(rpc.VERSION_NOT_SUPPORTED, said, supportedVersions=",".join(WIRES))
    if method in wire.OPERATIONS:
        return wire
    elsewhere = next((other for other in WIRES if method in WIRES[other].OPERATIONS), None)
    if elsewhere == "1.0":
        said = f"Version not supported: {method} needs the header {HEADER}: {elsewhere}"
        raise RpcError(rpc.VERSION_NOT_SUPPORTED, said, supportedVersions=",".join(WIRES))
    known = f"; it is one of version {elsewhere}" if elsewhere else ""
    raise RpcError(rpc.METHOD_NOT_FOUND, f"Method not found: {method!r:.80}{known}")
