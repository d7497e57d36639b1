"""A memory's rows: the current version of each, every version there was, and the keys of the writes that made them.

A value is read back only if its bytes still have its digest; a version that is missing, or has lost its bytes without
having been erased, is Corrupt. Functions over an open transaction that, to write, holds the memory's lock.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.core import strict_json
from holdfast.core.errors import Corrupt, IdempotencyConflict, NotFound, StaleState
from holdfast.store.engine import Row, Tx

NO_DIGEST = b""
"""Stands for the digest of a version that forgets: it never had a value."""

FIND = "SELECT memory_no, version, live FROM memories WHERE tenant = ?1 AND namespace = ?2 AND key = ?3"
INSERT = "INSERT INTO memories (tenant, namespace, key, version, live) VALUES (?1, ?2, ?3, 0, 0)"
ADVANCE = "UPDATE memories SET version = ?2, live = ?3 WHERE memory_no = ?1"
WITHDRAW = "UPDATE memories SET live = 0 WHERE memory_no = ?1"
VERSION_COLUMNS = "v.version, v.created_at, v.source, v.digest, v.value, v.erased_at"
VERSION = f"SELECT {VERSION_COLUMNS} FROM memory_versions v WHERE v.memory_no = ?1 AND v.version = ?2"
HISTORY = f"SELECT {VERSION_COLUMNS} FROM memory_versions v WHERE v.memory_no = ?1 ORDER BY v.version"
WRITTEN = "SELECT version FROM memory_versions WHERE memory_no = ?1 AND write_id = ?2"
INSERT_VERSION = """
    INSERT INTO memory_versions (memory_no, version, write_id, created_at, source, digest, value)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"""
KEYED = "SELECT version FROM memory_keys WHERE memory_no = ?1 AND idempotency_key = ?2"
INSERT_KEY = "INSERT INTO memory_keys (memory_no, idempotency_key, version) VALUES (?1, ?2, ?3)"
ERASE = "UPDATE memory_versions SET value = NULL, erased_at = ?2 WHERE memory_no = ?1 AND value IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Memory:
    """A fact as it is now, or as one write left it. `payload` is its value in JSON bytes, as they were given."""

    namespace: str
    key: str
    version: int
    payload: bytes
    digest: str
    created_at: int
    source: str | None = None

    def value(self) -> Any:
        """The payload as a JSON value."""
        return strict_json.parse(self.payload)


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """One version there was. One without a digest forgets; one with `erased_at` has lost its bytes to an erasure."""

    version: int
    payload: bytes | None
    digest: str | None
    created_at: int
    source: str | None = None
    erased_at: int | None = None

    @property
    def forgotten(self) -> bool:
        """Whether this version says that there is no value."""
        return self.digest is None

    def value(self) -> Any:
        """The payload as a JSON value; None if it was forgotten or erased."""
        return None if self.payload is None else strict_json.parse(self.payload)


class MemoryName(NamedTuple):
    """Where a memory is."""

    tenant: str
    namespace: str
    key: str

    def lock(self) -> str:
        """The name that writers of this memory lock."""
        return "memory\0" + "\0".join(self)


class MemoryRow(NamedTuple):
    """A memory's row; `live` is 0 if it was forgotten or erased."""

    memory_no: int
    version: int
    live: int


def find(tx: Tx, name: MemoryName) -> MemoryRow | None:
    """The memory's row, or None."""
    row = tx.one(FIND, *name)
    return None if row is None else MemoryRow._make(row)


def existing(tx: Tx, name: MemoryName) -> MemoryRow:
    """The memory's row, forgotten or not, or NotFound."""
    found = find(tx, name)
    if found is None:
        raise missing(name)
    return found


def version_of(tx: Tx, name: MemoryName, found: MemoryRow, version: int) -> MemoryVersion:
    """One version of a memory."""
    row = tx.one(VERSION, found.memory_no, version)
    if row is None:
        raise damaged(name, version)
    return checked(name, row)


def history(tx: Tx, name: MemoryName) -> list[MemoryVersion]:
    """Every version there was, oldest first; NotFound if there never was one."""
    found = existing(tx, name)
    versions = [checked(name, row) for row in tx.all(HISTORY, found.memory_no)]
    for number, version in enumerate(versions, start=1):
        if version.version != number:
            raise damaged(name, number)
    if len(versions) != found.version:
        raise damaged(name, found.version)
    return versions


def checked(name: MemoryName, row: Row) -> MemoryVersion:
    """The row as a version, if its digest says that it is what was written."""
    version, created_at, source, digest, value, erased_at = row
    if value is None:
        intact = digest == NO_DIGEST or (digest is not None and erased_at is not None)
    else:
        intact = digest_of(value) == digest
    if not intact:
        raise damaged(name, version)
    return MemoryVersion(version, value, digest.hex() if digest else None, created_at, source, erased_at)


def as_memory(name: MemoryName, version: MemoryVersion, payload: bytes | None = None) -> Memory:
    """A version as the memory it was then; `payload` stands in for bytes that were erased since."""
    kept = version.payload if version.payload is not None else payload
    if kept is None or version.digest is None:
        raise damaged(name, version.version)
    return Memory(name.namespace, name.key, version.version, kept, version.digest, version.created_at, version.source)


def first_result(
    tx: Tx, name: MemoryName, found: MemoryRow, payload: bytes, write_id: str, idempotency_key: str | None
) -> Memory | None:
    """What the first run of this write, or the first write with its key, was told; None if this is the first.

    IdempotencyConflict if the key was used for another value.
    """
    row = tx.one(WRITTEN, found.memory_no, write_id) if tx.rerun else None
    if row is None and idempotency_key is not None:
        row = tx.one(KEYED, found.memory_no, idempotency_key)
    if row is None:
        return None
    first = version_of(tx, name, found, row[0])
    if first.payload is not None:
        same = strict_json.same_value(first.payload, payload)
    else:
        same = first.digest == digest_of(payload).hex()
    if not same:
        raise key_used(idempotency_key, first.version)
    return as_memory(name, first, payload)


def check_expected(tx: Tx, name: MemoryName, found: MemoryRow | None, expected_version: int | None) -> None:
    """StaleState, with the current value, if the memory is not at the expected version."""
    now = found.version if found else 0
    if expected_version in (None, now):
        return
    current = version_of(tx, name, found, now) if found else None
    raise stale_memory(name, now, expected_version, live=bool(found and found.live), current=current)


def current_if_same(tx: Tx, name: MemoryName, found: MemoryRow, payload: bytes) -> Memory | None:
    """The memory as it is if it has this value, whole; None if a new version is needed."""
    row = tx.one(VERSION, found.memory_no, found.version) if found.live else None
    # A damaged value is not the same: a new version can be put over it.
    if row is None or row[4] is None or digest_of(row[4]) != row[3] or not strict_json.same_value(row[4], payload):
        return None
    return as_memory(name, checked(name, row))


def add_version(tx: Tx, found: MemoryRow, write_id: str, memory: Memory) -> None:
    """Make this the current version."""
    digest = bytes.fromhex(memory.digest)
    no, version = found.memory_no, memory.version
    tx.run(INSERT_VERSION, no, version, write_id, memory.created_at, memory.source, digest, memory.payload)
    tx.run(ADVANCE, no, version, 1)


def digest_of(payload: bytes) -> bytes:
    """The SHA-256 of a value's bytes."""
    return hashlib.sha256(payload).digest()


def key_used(idempotency_key: str | None, version: int) -> IdempotencyConflict:
    """The key was used for another value."""
    return IdempotencyConflict(
        f"{idempotency_key!r} was used before, for version {version}, with another value",
        key=idempotency_key,
        version=version,
    )


def stale_memory(
    name: MemoryName, now: int, expected_version: int | None, *, live: bool, current: MemoryVersion | None
) -> StaleState:
    """The memory is at another version than was expected."""
    return StaleState(
        f"memory {name.key!r} of {name.namespace!r} is at version {now}, not {expected_version}",
        hint="look at the current value, decide again, and put with its version",
        namespace=name.namespace,
        key=name.key,
        expected_version=expected_version,
        version=now,
        live=live,
        value=current.value() if current else None,
    )


def missing(name: MemoryName) -> NotFound:
    """There is no such memory."""
    return NotFound(f"there is no memory {name.key!r} in {name.namespace!r}", namespace=name.namespace, key=name.key)


def damaged(name: MemoryName, version: int | None) -> Corrupt:
    """A version is not what was written."""
    return Corrupt(
        f"version {version} of memory {name.key!r} in {name.namespace!r} is not what was written, or missing",
        hint="restore from a backup, or put the value again; nothing was changed",
        namespace=name.namespace,
        key=name.key,
        version=version,
    )
