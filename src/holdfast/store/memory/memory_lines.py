"""A memory with all its versions as one line of an archive, and back.

What a line says is believed only if the store could have written it: anything else is refused before it is put.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast.core import strict_json
from holdfast.core.errors import BadArchive, Conflict, InvalidInput
from holdfast.core.event_bodies import Digest
from holdfast.core.ids import TimeOrderedIds, check_name, check_together
from holdfast.store.engine import TextSql, Tx
from holdfast.store.log.prepare import LAST_MS
from holdfast.store.memory.memories import MAX_VALUE
from holdfast.store.memory.memory_rows import (
    ADVANCE,
    INSERT,
    INSERT_KEY,
    INSERT_VERSION,
    NO_DIGEST,
    MemoryName,
    MemoryVersion,
    digest_of,
    existing,
    find,
    history,
)
from holdfast.store.text.word_index import index_memory

Time = Annotated[int, Meta(ge=0, le=LAST_MS)]

NAMES = """
    SELECT namespace, key FROM memories
    WHERE tenant = ?1 AND (namespace, key) > (?2, ?3) ORDER BY namespace, key LIMIT ?4"""
KEYS = """
    SELECT idempotency_key, version FROM memory_keys
    WHERE memory_no = ?1 ORDER BY version, idempotency_key"""
SET_ERASED = "UPDATE memory_versions SET erased_at = ?3 WHERE memory_no = ?1 AND version = ?2"


class VersionLine(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One version: `value` is its JSON text, absent if it forgets or was erased."""

    version: int
    created_at: Time
    source: str | None
    digest: Digest | None
    value: str | None
    erased_at: Time | None


class MemoryLine(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A memory: where it is, every version there was, and the keys of the writes that made them."""

    namespace: str
    key: str
    live: bool
    versions: list[VersionLine]
    keys: list[tuple[str, int]]


_decode = msgspec.json.Decoder(MemoryLine).decode
_encode = msgspec.json.Encoder().encode


def encode(tx: Tx, name: MemoryName) -> bytes:
    """The memory as a line."""
    found = existing(tx, name)
    versions = [_version_line(version) for version in history(tx, name)]
    keys = [(row[0], row[1]) for row in tx.all(KEYS, found.memory_no)]
    return _encode(MemoryLine(name.namespace, name.key, bool(found.live), versions, keys))


def decode(line: bytes) -> MemoryLine:
    """The memory that a line says, or BadArchive."""
    try:
        memory = _decode(line)
        _check_names(memory)
        intact = [_intact(version) for version in memory.versions]
    except (ValueError, InvalidInput) as error:
        raise _bad(f"a memory's line cannot be understood: {error}") from None
    for number, version in enumerate(memory.versions, 1):
        if version.version != number or not intact[number - 1]:
            raise _bad(f"version {number} of memory {memory.key!r} is not what its digest says")
    if not memory.versions or memory.live != (memory.versions[-1].value is not None):
        raise _bad(f"memory {memory.key!r} is not what its last version says")
    return memory


def is_there(tx: Tx, tenant: str, line: MemoryLine) -> bool:
    """Whether just this memory is there, as long or longer; Conflict if another one is."""
    name = MemoryName(tenant, line.namespace, line.key)
    if find(tx, name) is None:
        return False
    there = [(version.digest, version.created_at) for version in history(tx, name)]
    if there[: len(line.versions)] != [(version.digest, version.created_at) for version in line.versions]:
        raise Conflict(f"there is another memory {line.key!r} in {line.namespace!r} already", key=line.key)
    return True


def put(tx: Tx, text: TextSql, tenant: str, line: MemoryLine) -> bool:
    """Keep a memory that is not there; False if just this one is. Conflict if another one is."""
    if is_there(tx, tenant, line):
        return False
    name = MemoryName(tenant, line.namespace, line.key)
    tx.run(INSERT, *name)
    memory_no = existing(tx, name).memory_no
    ids = TimeOrderedIds()
    for version in line.versions:
        digest = bytes.fromhex(version.digest) if version.digest else NO_DIGEST
        value = None if version.value is None else version.value.encode()
        row = (version.version, ids(), version.created_at, version.source, digest, value)
        tx.run(INSERT_VERSION, memory_no, *row)
        if version.erased_at is not None:
            tx.run(SET_ERASED, memory_no, version.version, version.erased_at)
    tx.run(ADVANCE, memory_no, len(line.versions), int(line.live))
    for key, number in line.keys:
        tx.run(INSERT_KEY, memory_no, key, number)
    last = line.versions[-1].value
    if last is not None:
        index_memory(tx, text, tenant, memory_no, last.encode())
    return True


def names_after(tx: Tx, tenant: str, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
    """The next memories in the order of namespace and key."""
    return [(row[0], row[1]) for row in tx.all(NAMES, tenant, *after, limit)]


def _version_line(version: MemoryVersion) -> VersionLine:
    value = None if version.payload is None else version.payload.decode()
    return VersionLine(version.version, version.created_at, version.source, version.digest, value, version.erased_at)


def _check_names(memory: MemoryLine) -> None:
    """InvalidInput unless every text that becomes a name is one, and every key is of a version, once."""
    check_name(memory.namespace, "a namespace")
    check_name(memory.key, "a memory's key")
    check_together("a namespace and a memory's key", memory.namespace, memory.key)
    for version in memory.versions:
        if version.source is not None:
            check_name(version.source, "a memory's source")
    for key, number in memory.keys:
        check_name(key, "an idempotency key")
        if not 1 <= number <= len(memory.versions):
            raise InvalidInput(f"an idempotency key of version {number}, which there is not")
    if len({key for key, _ in memory.keys}) < len(memory.keys):
        raise InvalidInput("an idempotency key is there twice")


def _intact(version: VersionLine) -> bool:
    """Whether a version is one that was put, forgets, or was erased; InvalidInput if its value is none."""
    if version.value is None:
        return (version.digest is None) == (version.erased_at is None)
    value = strict_json.check(version.value.encode())
    if len(value) > MAX_VALUE:
        raise InvalidInput(f"a memory's value of {len(value)} bytes is more than {MAX_VALUE}")
    return version.erased_at is None and digest_of(value).hex() == version.digest


def _bad(message: str) -> BadArchive:
    details: dict[str, Any] = {"member": "memories.jsonl", "reason": "memory"}
    return BadArchive(message, **details)
