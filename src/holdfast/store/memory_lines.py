"""A memory with all its versions as one line of an archive, and back."""

from typing import Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import BadArchive, Conflict, InvalidJson
from holdfast.core.ids import TimeOrderedIds
from holdfast.store.engine import TextSql, Tx
from holdfast.store.indexing import index_memory
from holdfast.store.memory_rows import (
    ADVANCE,
    INSERT,
    INSERT_KEY,
    INSERT_VERSION,
    NO_DIGEST,
    MemoryVersion,
    Name,
    digest_of,
    existing,
    find,
    history,
)

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
    created_at: int
    source: str | None
    digest: str | None
    value: str | None
    erased_at: int | None


class MemoryLine(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A memory: where it is, every version there was, and the keys of the writes that made them."""

    namespace: str
    key: str
    live: bool
    versions: list[VersionLine]
    keys: list[tuple[str, int]]


_decode = msgspec.json.Decoder(MemoryLine).decode
_encode = msgspec.json.Encoder().encode


def encode(tx: Tx, name: Name) -> bytes:
    """The memory as a line."""
    found = existing(tx, name)
    versions = [_version_line(version) for version in history(tx, name)]
    keys = [(row[0], row[1]) for row in tx.all(KEYS, found.memory_no)]
    return _encode(MemoryLine(name.namespace, name.key, bool(found.live), versions, keys))


def decode(line: bytes) -> MemoryLine:
    """The memory that a line says, or BadArchive."""
    try:
        memory = _decode(line)
        for number, version in enumerate(memory.versions, 1):
            if version.version != number or not _intact(version):
                raise _bad(f"version {number} of memory {memory.key!r} is not what its digest says")
    except (msgspec.ValidationError, msgspec.DecodeError, InvalidJson, ValueError) as error:
        raise _bad(f"a memory's line cannot be understood: {error}") from None
    return memory


def put(tx: Tx, text: TextSql, tenant: str, line: MemoryLine) -> bool:
    """Keep a memory that is not there; False if just this one is. Conflict if another one is."""
    name = Name(tenant, line.namespace, line.key)
    if find(tx, name) is not None:
        there = [(version.digest, version.created_at) for version in history(tx, name)]
        if there[: len(line.versions)] == [(version.digest, version.created_at) for version in line.versions]:
            return False
        raise Conflict(f"there is another memory {line.key!r} in {line.namespace!r} already", key=line.key)
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
    last = line.versions[-1].value if line.versions else None
    if line.live and last is not None:
        index_memory(tx, text, tenant, memory_no, last.encode())
    return True


def names_after(tx: Tx, tenant: str, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
    """The next memories in the order of namespace and key."""
    return [(row[0], row[1]) for row in tx.all(NAMES, tenant, *after, limit)]


def _version_line(version: MemoryVersion) -> VersionLine:
    value = None if version.payload is None else version.payload.decode()
    return VersionLine(version.version, version.created_at, version.source, version.digest, value, version.erased_at)


def _intact(version: VersionLine) -> bool:
    if version.value is None:
        return version.digest is None or version.erased_at is not None
    strict_json.check(version.value.encode())
    return digest_of(version.value.encode()).hex() == version.digest


def _bad(message: str) -> BadArchive:
    details: dict[str, Any] = {"member": "memories.jsonl", "reason": "memory"}
    return BadArchive(message, **details)
