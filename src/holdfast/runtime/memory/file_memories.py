"""Memories in a project's file: the same contract as the store's.

Every version is kept, and a version's number is never used again: forgetting is a version too, and erasing takes the
bytes of all versions but leaves their numbers and digests.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from holdfast.core import strict_json
from holdfast.core.clock import Clock, SystemClock
from holdfast.core.ids import check_name
from holdfast.runtime.memory.memory_file import KeptMemory, KeptVersion, MemoryDocument, MemoryFile
from holdfast.store.memory import (
    MAX_HITS,
    MAX_PAGE,
    Memory,
    MemoryHit,
    MemoryName,
    MemoryPage,
    MemoryVersion,
    check_whole,
    checked_payload,
    damaged,
    digest_of,
    is_found,
    key_used,
    memory_name,
    missing,
    parse_query,
    snippet,
    stale_memory,
    texts,
)

TENANT = "project"

Result = TypeVar("Result")
Versions = list[MemoryVersion]
Hits = list[MemoryHit]
Names = list[str]


class FileMemories:
    """The memories of a project."""

    def __init__(self, project_root: Path, clock: Clock | None = None) -> None:
        self._file = MemoryFile(project_root)
        self._clock = clock or SystemClock()

    async def put(
        self,
        namespace: str,
        key: str,
        value: Any,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        source: str | None = None,
    ) -> Memory:
        """The memory after this write: a new version, or the current one if that has the same value.

        `expected_version` (0: never written) refuses with StaleState if another write came first. The same
        `idempotency_key` again gives the first result, whatever came after it.
        """
        name = memory_name(TENANT, namespace, key)
        payload = checked_payload(name, value, expected_version, idempotency_key, source)

        def change(document: MemoryDocument) -> Memory:
            found = document.find(namespace, key)
            if found is not None and idempotency_key in found.keys:
                return _first_result(name, found, payload, idempotency_key)
            _check_expected(name, found, expected_version)
            if found is None:
                found = KeptMemory(namespace, key, False, [])
                document.memories.append(found)
            memory = _current_if_same(name, found, payload)
            if memory is None:
                digest = digest_of(payload).hex()
                kept = KeptVersion(len(found.versions) + 1, self._clock.now(), payload.decode(), digest, source)
                found.versions.append(kept)
                found.live = True
                memory = Memory(namespace, key, kept.version, payload, digest, kept.created_at, source)
            if idempotency_key is not None:
                found.keys[idempotency_key] = memory.version
            return memory

        return await self._change(change)

    async def get(self, namespace: str, key: str) -> Memory:
        """The memory, or NotFound if there is none or it was forgotten."""
        name = memory_name(TENANT, namespace, key)

        def look(document: MemoryDocument) -> Memory:
            found = _existing(document, name)
            if not found.live:
                raise missing(name)
            return _memory(name, found.versions[-1])

        return await self._read(look)

    async def history(self, namespace: str, key: str) -> Versions:
        """Every version there was, oldest first; NotFound if there never was one."""
        name = memory_name(TENANT, namespace, key)
        return await self._read(lambda document: [_checked(name, each) for each in _existing(document, name).versions])

    async def forget(self, namespace: str, key: str) -> MemoryVersion:
        """The version that says there is no value: a new one, or the current one; NotFound if there never was one."""
        name = memory_name(TENANT, namespace, key)

        def change(document: MemoryDocument) -> MemoryVersion:
            found = _existing(document, name)
            if found.live:
                found.versions.append(KeptVersion(len(found.versions) + 1, self._clock.now()))
                found.live = False
            return _checked(name, found.versions[-1])

        return await self._change(change)

    async def erase(self, namespace: str, key: str) -> None:
        """Take the bytes of all versions, and leave their numbers, times, sources and digests."""
        name = memory_name(TENANT, namespace, key)

        def change(document: MemoryDocument) -> None:
            found = _existing(document, name)
            found.live = False
            for version in found.versions:
                if version.value is not None:
                    version.value, version.erased_at = None, self._clock.now()

        await self._change(change)

    async def search(self, query: str, *, namespace: str | None = None, limit: int = 20) -> Hits:
        """The memories with every word asked for (`word`, `"a phrase"`, `pre*`, `-without`), the last made first."""
        asked = parse_query(query)
        if namespace is not None:
            check_name(namespace, "a namespace")
        check_whole(limit, "limit", 1, MAX_HITS)

        def look(document: MemoryDocument) -> Hits:
            hits: Hits = []
            for memory in _live(reversed(document.memories), namespace):
                words = texts(memory.payload)
                if len(hits) < limit and is_found(asked, words):
                    hits.append(MemoryHit(memory, *snippet(asked, words)))
            return hits

        return await self._read(look)

    async def namespaces(self) -> Names:
        """The namespaces that have a memory, in order."""
        return await self._read(
            lambda document: sorted({memory.namespace for memory in document.memories if memory.live})
        )

    async def list(
        self, namespace: str, *, prefix: str | None = None, cursor: str | None = None, limit: int = 100
    ) -> MemoryPage:
        """One page of a namespace, by key in the order of code points: all keys, or those that begin with `prefix`."""
        check_name(namespace, "a namespace")
        for text, what in ((prefix, "a prefix"), (cursor, "a cursor")):
            if text is not None:
                check_name(text, what)
        check_whole(limit, "limit", 1, MAX_PAGE)

        def look(document: MemoryDocument) -> MemoryPage:
            memories = sorted(_live(document.memories, namespace), key=lambda memory: memory.key)
            rest = [each for each in memories if each.key.startswith(prefix or "") and each.key > (cursor or "")]
            return MemoryPage(rest[:limit], rest[limit - 1].key if len(rest) > limit else None)

        return await self._read(look)

    async def _read(self, look: Callable[[MemoryDocument], Result]) -> Result:
        return await asyncio.to_thread(lambda: look(self._file.read()))

    async def _change(self, change: Callable[[MemoryDocument], Result]) -> Result:
        def run() -> Result:
            with self._file.changing() as document:
                return change(document)

        return await asyncio.to_thread(run)


def _existing(document: MemoryDocument, name: MemoryName) -> KeptMemory:
    """The memory, forgotten or not, or NotFound."""
    found = document.find(name.namespace, name.key)
    if found is None:
        raise missing(name)
    return found


def _live(memories: Iterable[KeptMemory], namespace: str | None) -> Iterator[Memory]:
    """Those that are remembered, of one namespace or of all."""
    for found in memories:
        if found.live and namespace in (None, found.namespace):
            yield _memory(MemoryName(TENANT, found.namespace, found.key), found.versions[-1])


def _first_result(name: MemoryName, found: KeptMemory, payload: bytes, idempotency_key: str | None) -> Memory:
    """What the first write with this key was told; IdempotencyConflict if it had another value."""
    first = _checked(name, found.versions[found.keys[str(idempotency_key)] - 1])
    if first.payload is not None:
        same = strict_json.same_value(first.payload, payload)
    else:
        same = first.digest == digest_of(payload).hex()
    if not same:
        raise key_used(idempotency_key, first.version)
    return Memory(
        name.namespace,
        name.key,
        first.version,
        payload if first.payload is None else first.payload,
        first.digest or "",
        first.created_at,
        first.source,
    )


def _check_expected(name: MemoryName, found: KeptMemory | None, expected_version: int | None) -> None:
    now = len(found.versions) if found else 0
    if expected_version in (None, now):
        return
    current = _checked(name, found.versions[-1]) if found else None
    raise stale_memory(name, now, expected_version, live=bool(found and found.live), current=current)


def _current_if_same(name: MemoryName, found: KeptMemory, payload: bytes) -> Memory | None:
    """The memory as it is if it has this value; None if a new version is needed, also over a damaged value."""
    if not found.live:
        return None
    current = found.versions[-1]
    if not _intact(current) or not strict_json.same_value((current.value or "").encode(), payload):
        return None
    return _memory(name, current)


def _memory(name: MemoryName, version: KeptVersion) -> Memory:
    """A version as the memory it is."""
    kept = _checked(name, version)
    if kept.payload is None or kept.digest is None:
        raise damaged(name, version.version)
    return Memory(name.namespace, name.key, kept.version, kept.payload, kept.digest, kept.created_at, kept.source)


def _checked(name: MemoryName, version: KeptVersion) -> MemoryVersion:
    """A version, if its digest says that it is what was written."""
    if not _intact(version):
        raise damaged(name, version.version)
    payload = None if version.value is None else version.value.encode()
    return MemoryVersion(
        version.version, payload, version.digest, version.created_at, version.source, version.erased_at
    )


def _intact(version: KeptVersion) -> bool:
    if version.value is None:
        return version.digest is None or version.erased_at is not None
    return digest_of(version.value.encode()).hex() == version.digest
