"""Memories, on the wire."""

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct

from holdfast.gateway.wire.types import Body, Name, OwnName, Time


class NamespaceView(Struct):
    """A namespace, and how many memories it has; 10,000 are counted at most."""

    namespace: str
    memories: int


class NamespaceList(Struct):
    """Namespaces in order; `cursor` asks for the next page, null at the end."""

    namespaces: list[NamespaceView]
    cursor: str | None


class MemoryView(Struct, rename="camel"):
    """A memory as it is now, or as one write left it."""

    namespace: str
    key: str
    value: Raw
    version: int
    source: str | None
    updated_at: Time


class MemoryList(Struct):
    """Memories by key, or as they were found; `cursor` asks for the next page, null at the end."""

    memories: list[MemoryView]
    cursor: str | None


class MemoryVersionView(Struct, rename="camel"):
    """One version there was: one without a digest forgets, and one with `erasedAt` has lost its value."""

    version: int
    value: Raw
    digest: str | None
    source: str | None
    created_at: Time
    erased_at: Time | None


class MemoryHistory(Struct):
    """The versions of a memory, newest first; `cursor` is the `before` of older ones, or null."""

    versions: list[MemoryVersionView]
    cursor: int | None


class NewMemory(Body):
    """A memory to put; `expectedVersion` refuses it if another write came first (0: never written)."""

    namespace: Name
    key: Name
    value: Any
    source: Name | None = None
    expected_version: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    idempotency_key: OwnName | None = None


class MemoryToForget(Body):
    """Which memory is to be forgotten."""

    namespace: Name
    key: Name


class ForgottenMemory(Struct):
    """The version that says that there is no value."""

    namespace: str
    key: str
    version: int
