"""Session keys: a stable name for a conversation, routed to its current session.

A key routes to one session at a time; every session it ever routed to stays on record with its times.
"""

from holdfast.core import KeyEntry, Route, strict_json, types
from holdfast.core.errors import NotFound
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.append import append, open_head
from holdfast.store.engine import Tx
from holdfast.store.part import Part, key_lock
from holdfast.store.projection import DEFAULT_AGENT
from holdfast.store.reading import head_of
from holdfast.store.sessions import describe

GET = """
    SELECT k.key, s.session_id, k.document, k.created_at, k.updated_at
    FROM session_entries k JOIN sessions s ON s.session_no = k.session_no
    WHERE k.tenant = ?1 AND k.key = ?2"""
ROUTES = """
    SELECT r.key, s.session_id, r.started_at, r.ended_at
    FROM session_routes r JOIN sessions s ON s.session_no = r.session_no
    WHERE r.tenant = ?1 AND r.key = ?2 ORDER BY r.started_at, r.session_no"""
INSERT_ENTRY = """
    INSERT INTO session_entries (tenant, key, session_no, document, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?5)"""
INSERT_ROUTE = """
    INSERT INTO session_routes (tenant, key, session_no, started_at, ended_at) VALUES (?1, ?2, ?3, ?4, NULL)"""


class Keys(Part):
    """`store.keys`."""

    __slots__ = ()

    async def resolve(self, key: str, *, session_id: str | None = None, agent: str = DEFAULT_AGENT) -> KeyEntry:
        """Where the key routes now; a new key is routed to `session_id`, or to a session made for it."""
        check_name(key, "a session key")
        found = await self.workers.read(lambda tx: find(tx, self.tenant, key))
        if found is not None:
            return found
        chosen = check_session_id(session_id) if session_id is not None else self.ids()
        now = self.clock.now()
        body = {"agent": check_name(agent, "an agent's name")}
        event = self.own_event(types.SESSION_CREATED, body)

        def write(tx: Tx) -> KeyEntry:
            there = find(tx, self.tenant, key)
            if there is not None:
                return there
            if agent != DEFAULT_AGENT and head_of(tx, self.tenant, chosen) is None:
                append(tx, self.tenant, chosen, [event])
                describe(tx, self.tenant, chosen, body)
            head = open_head(tx, self.tenant, chosen, now)
            tx.run(INSERT_ENTRY, self.tenant, key, head.session_no, b"{}", now)
            tx.run(INSERT_ROUTE, self.tenant, key, head.session_no, now)
            return KeyEntry(key, chosen, {}, now, now)

        return await self.workers.write(write, (self.lock(chosen), key_lock(self.tenant, key)))

    async def get(self, key: str) -> KeyEntry:
        """Where the key routes now, or NotFound."""
        check_name(key, "a session key")
        found = await self.workers.read(lambda tx: find(tx, self.tenant, key))
        if found is None:
            raise NotFound(f"there is no session key {key!r}", key=key)
        return found

    async def routes(self, key: str) -> list[Route]:
        """Every session the key has routed to, oldest first."""
        check_name(key, "a session key")
        rows = await self.workers.read(lambda tx: tx.all(ROUTES, self.tenant, key))
        return [Route(*row) for row in rows]


def find(tx: Tx, tenant: str, key: str) -> KeyEntry | None:
    """Where the key routes now, or None."""
    row = tx.one(GET, tenant, key)
    return None if row is None else KeyEntry(row[0], row[1], strict_json.parse(row[2]), row[3], row[4])
