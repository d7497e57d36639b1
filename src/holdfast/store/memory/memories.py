"""Memories: facts that outlive sessions, each under a key in a namespace.

Every version is kept, and a version's number is never used again: forgetting is a version too, and erasing takes the
bytes of all versions but leaves their numbers and digests. What was acknowledged is found by the next search.
"""

from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput, TooLarge
from holdfast.core.ids import check_name, check_together
from holdfast.store.engine import Engine, Row, Tx
from holdfast.store.log.log_reader import page_length
from holdfast.store.memory.memory_rows import (
    ADVANCE,
    ERASE,
    INSERT,
    INSERT_KEY,
    INSERT_VERSION,
    NO_DIGEST,
    VERSION_COLUMNS,
    WITHDRAW,
    WRITTEN,
    Memory,
    MemoryName,
    MemoryVersion,
    add_version,
    as_memory,
    check_expected,
    checked,
    current_if_same,
    digest_of,
    existing,
    find,
    first_result,
    history,
    missing,
    version_of,
)
from holdfast.store.part import Part
from holdfast.store.text.tokenizer import Query, parse_query, snippet, texts
from holdfast.store.text.word_index import index_memory, match_memories, unindex_memory

MAX_VALUE = 256 * 1024
MAX_PAGE = 500
MAX_HITS = 100
MOST_COUNTED = 10_000
"""As far as the memories of one namespace are counted in a list."""

NAMESPACES = "SELECT DISTINCT namespace FROM memories WHERE tenant = ?1 AND live = 1 ORDER BY namespace"
NEXT_NAMESPACE = """
    SELECT namespace FROM memories WHERE tenant = ?1 AND live = 1 AND namespace > ?2 ORDER BY namespace LIMIT 1"""
COUNTED = f"""
    SELECT count(*) FROM (
      SELECT 1 FROM memories WHERE tenant = ?1 AND namespace = ?2 AND live = 1 LIMIT {MOST_COUNTED}) AS counted"""
VERSIONS = "FROM memory_versions v WHERE v.memory_no = ?1 AND v.version < ?2 ORDER BY v.version DESC LIMIT ?3"
LISTED = """
    FROM memories m
    LEFT JOIN memory_versions v ON v.memory_no = m.memory_no AND v.version = m.version
    WHERE m.tenant = ?1 AND m.namespace = ?2 AND m.live = 1 AND m.key > ?3"""
NUMBERED = f"""
    SELECT m.namespace, m.key, {VERSION_COLUMNS} FROM memories m
    LEFT JOIN memory_versions v ON v.memory_no = m.memory_no AND v.version = m.version WHERE m.memory_no = ?1"""

LAST_VERSION = 2**63 - 1

Versions = list[MemoryVersion]
Names = list[str]
Rows = list[Row]


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of a namespace by key; `cursor` asks for the next, None at the end."""

    memories: list[Memory]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class NamespaceCount:
    """A namespace, and how many memories it has now, `MOST_COUNTED` at most."""

    namespace: str
    memories: int


@dataclass(frozen=True, slots=True)
class NamespacePage:
    """One page of namespaces in order; `cursor` asks for the next, None at the end."""

    namespaces: list[NamespaceCount]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Versions of a memory, newest first; `cursor` asks for older ones, None if there are none."""

    versions: list[MemoryVersion]
    cursor: int | None


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that was found, and the text around the first match; highlights are (start, end) in the snippet."""

    memory: Memory
    snippet: str
    highlights: tuple[tuple[int, int], ...]


Hits = list[MemoryHit]
Namespaces = list[NamespaceCount]


@dataclass(frozen=True, slots=True)
class Memories(Part):
    """`store.memories`."""

    engine: Engine

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

        `value` is a JSON value, or the bytes of one. `expected_version` (0: never written) refuses with StaleState if
        another write came first. The same `idempotency_key` again gives the first result, whatever came after it.
        """
        name = self._name(namespace, key)
        payload = checked_payload(name, value, expected_version, idempotency_key, source)
        write_id, now = self.ids(), self.clock.now()

        def run(tx: Tx) -> Memory:
            found = find(tx, name)
            if found is not None:
                first = first_result(tx, name, found, payload, write_id, idempotency_key)
                if first is not None:
                    return first
            check_expected(tx, name, found, expected_version)
            if found is None:
                tx.run(INSERT, *name)
                found = existing(tx, name)
            memory = current_if_same(tx, name, found, payload)
            if memory is None:
                version, digest = found.version + 1, digest_of(payload).hex()
                memory = Memory(namespace, key, version, payload, digest, now, source)
                add_version(tx, found, write_id, memory)
                index_memory(tx, self.engine.text, self.tenant, found.memory_no, payload)
            if idempotency_key is not None:
                tx.run(INSERT_KEY, found.memory_no, idempotency_key, memory.version)
            return memory

        return await self.workers.write(run, (name.lock(),))

    async def get(self, namespace: str, key: str) -> Memory:
        """The memory, or NotFound if there is none or it was forgotten."""
        name = self._name(namespace, key)

        def run(tx: Tx) -> Memory:
            found = existing(tx, name)
            if not found.live:
                raise missing(name)
            return as_memory(name, version_of(tx, name, found, found.version))

        return await self.workers.read(run)

    async def history(self, namespace: str, key: str) -> Versions:
        """Every version there was, oldest first; NotFound if there never was one."""
        name = self._name(namespace, key)
        return await self.workers.read(lambda tx: history(tx, name))

    async def versions(self, namespace: str, key: str, *, before: int | None = None, limit: int = 50) -> VersionPage:
        """One page of the versions there were, newest first; it ends early, at a cursor, rather than be large."""
        name = self._name(namespace, key)
        check_whole(limit, "limit", 1, MAX_PAGE)
        first = LAST_VERSION if before is None else before

        def run(tx: Tx) -> VersionPage:
            number = existing(tx, name).memory_no
            sizes = tx.all(f"SELECT coalesce(length(v.value), 0) {VERSIONS}", number, first, limit + 1)
            length = page_length([size for (size,) in sizes], limit)
            rows = tx.all(f"SELECT {VERSION_COLUMNS} {VERSIONS}", number, first, length)
            found = [checked(name, row) for row in rows]
            return VersionPage(found, found[-1].version if len(sizes) > length else None)

        return await self.workers.read(run)

    async def forget(self, namespace: str, key: str) -> MemoryVersion:
        """The version that says there is no value: a new one, or the current one; NotFound if there never was one."""
        name = self._name(namespace, key)
        write_id, now = self.ids(), self.clock.now()

        def run(tx: Tx) -> MemoryVersion:
            found = existing(tx, name)
            done = tx.one(WRITTEN, found.memory_no, write_id) if tx.rerun else None
            if done is not None or not found.live:
                return version_of(tx, name, found, done[0] if done else found.version)
            version = found.version + 1
            tx.run(INSERT_VERSION, found.memory_no, version, write_id, now, None, NO_DIGEST, None)
            tx.run(ADVANCE, found.memory_no, version, 0)
            unindex_memory(tx, self.engine.text, found.memory_no)
            return MemoryVersion(version, None, None, now)

        return await self.workers.write(run, (name.lock(),))

    async def erase(self, namespace: str, key: str) -> None:
        """Take the bytes of all versions, and leave their numbers, times, sources and digests."""
        name = self._name(namespace, key)
        now = self.clock.now()

        def run(tx: Tx) -> None:
            found = existing(tx, name)
            tx.run(ERASE, found.memory_no, now)
            tx.run(WITHDRAW, found.memory_no)
            unindex_memory(tx, self.engine.text, found.memory_no, scrub=True)
            tx.leave_no_trace()

        await self.workers.write(run, (name.lock(),), makes_room=True)

    async def search(self, query: str, *, namespace: str | None = None, limit: int = 20) -> Hits:
        """The memories with every word asked for (`word`, `"a phrase"`, `pre*`, `-without`), the last made first."""
        asked = parse_query(query)
        if namespace is not None:
            check_name(namespace, "a namespace")
        check_whole(limit, "limit", 1, MAX_HITS)

        def run(tx: Tx) -> Hits:
            found = match_memories(tx, self.engine.text, self.tenant, asked, namespace=namespace, limit=limit)
            return [self._hit(tx, memory_no, asked) for memory_no in found]

        return await self.workers.read(run)

    async def namespaces(self) -> Names:
        """The namespaces that have a memory, in order."""
        rows = await self.workers.read(lambda tx: tx.all(NAMESPACES, self.tenant))
        return [row[0] for row in rows]

    async def namespace_page(self, *, cursor: str | None = None, limit: int = 50) -> NamespacePage:
        """One page of the namespaces that have a memory, in order, each with how many it has."""
        if cursor is not None:
            check_name(cursor, "a cursor")
        check_whole(limit, "limit", 1, MAX_PAGE)

        def run(tx: Tx) -> NamespacePage:
            found = Namespaces()
            last = cursor or ""
            while (row := tx.one(NEXT_NAMESPACE, self.tenant, last)) is not None:
                if len(found) == limit:
                    return NamespacePage(found, last)
                last = row[0]
                counted = tx.one(COUNTED, self.tenant, last)
                found.append(NamespaceCount(last, counted[0] if counted else 0))
            return NamespacePage(found, None)

        return await self.workers.read(run)

    async def list(
        self, namespace: str, *, prefix: str | None = None, cursor: str | None = None, limit: int = 100
    ) -> MemoryPage:
        """One page of a namespace, by key in the order of code points: all keys, or those that begin with `prefix`.

        It ends early, at a cursor, rather than be large.
        """
        check_name(namespace, "a namespace")
        for text, what in ((prefix, "a prefix"), (cursor, "a cursor")):
            if text is not None:
                check_name(text, what)
        check_whole(limit, "limit", 1, MAX_PAGE)
        bounds = _bounds(prefix)
        narrower = "".join(f" AND m.key {comparison} ?{n}" for n, (comparison, _) in enumerate(bounds, start=5))

        def run(tx: Tx) -> MemoryPage:
            def some(columns: str, most: int) -> Rows:
                sql = f"SELECT {columns} {LISTED}{narrower} ORDER BY m.key LIMIT ?4"
                return tx.all(sql, self.tenant, namespace, cursor or "", most, *(bound for _, bound in bounds))

            sizes = [size for (size,) in some("coalesce(length(v.value), 0)", limit + 1)]
            rows = some(f"m.key, {VERSION_COLUMNS}", page_length(sizes, limit))
            names = [MemoryName(self.tenant, namespace, row[0]) for row in rows]
            memories = [as_memory(name, checked(name, row[1:])) for name, row in zip(names, rows, strict=True)]
            return MemoryPage(memories, memories[-1].key if len(sizes) > len(rows) else None)

        return await self.workers.read(run)

    def _hit(self, tx: Tx, memory_no: int, asked: Query) -> MemoryHit:
        row = tx.one(NUMBERED, memory_no)
        assert row is not None
        name = MemoryName(self.tenant, row[0], row[1])
        memory = as_memory(name, checked(name, row[2:]))
        shown = snippet(asked, texts(memory.payload))
        return MemoryHit(memory, shown.text, shown.highlights)

    def _name(self, namespace: str, key: str) -> MemoryName:
        return memory_name(self.tenant, namespace, key)


def memory_name(tenant: str, namespace: str, key: str) -> MemoryName:
    """The name of a memory; InvalidInput if it can be none."""
    return MemoryName(tenant, check_name(namespace, "a namespace"), check_name(key, "a memory's key"))


def _bounds(prefix: str | None) -> list[tuple[str, str]]:
    """What is true of the keys that begin with a prefix, and of no others, so that an index finds them."""
    if prefix is None:
        return []
    bounds = [(">=", prefix)]
    stem = prefix.rstrip("\U0010ffff")
    if stem:
        following = ord(stem[-1]) + 1
        bounds.append(("<", stem[:-1] + chr(0xE000 if following == 0xD800 else following)))
    return bounds


def checked_payload(
    name: MemoryName, value: Any, expected_version: int | None, idempotency_key: str | None, source: str | None
) -> bytes:
    """The bytes of a value that may be put, with all that is said of it; InvalidInput, InvalidJson or TooLarge."""
    check_together("a namespace and a memory's key", name.namespace, name.key)
    if expected_version is not None:
        check_whole(expected_version, "expected_version", 0, 2**63 - 1)
    for text, what in ((idempotency_key, "an idempotency key"), (source, "a memory's source")):
        if text is not None:
            check_name(text, what)
    payload = strict_json.check(value) if isinstance(value, bytes) else strict_json.dump(value)
    if len(payload) > MAX_VALUE:
        raise TooLarge(f"a memory's value of {len(payload)} bytes", limit=MAX_VALUE)
    return payload


def check_whole(number: int, name: str, least: int, most: int) -> None:
    """InvalidInput if a number is not a whole one within its bounds."""
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidInput(f"{name} must be a whole number from {least} to {most}, not {number!r:.80}")
