"""Session keys: a stable name for a conversation, routed to its current session.

A key routes to one session at a time; every session it ever routed to stays on record with its times. A reset moves
a key to a new session, and both sessions' logs say so. When a key's session is deleted, its next use makes a new one:
never one that it routed to before, so that no reset or deletion is undone by using a key. Whoever undeletes a session
says that it is to come back: then its keys do that were not used meanwhile.
"""

from dataclasses import dataclass
from typing import Any

from holdfast.core import KeyEntry, Route, strict_json
from holdfast.core.errors import Conflict, InvalidInput, NotFound, SessionGone
from holdfast.core.event_bodies import SessionCreated, SessionReset
from holdfast.core.ids import check_name, check_session_id, session_id_for
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.append import append, open_head
from holdfast.store.log.log_reader import existing_head, head_of
from holdfast.store.log.prepare import PreparedEvent, with_body
from holdfast.store.log.projection import DEFAULT_AGENT, created, superseded
from holdfast.store.log.rows import get_facts
from holdfast.store.part import Part, key_lock
from holdfast.store.sessions.sessions import describe

MAX_ROUTES = 1_000
"""Routes that are read at once: a row each of a few hundred bytes."""

GET = """
    SELECT k.key, s.session_id, k.document, k.created_at, k.updated_at
    FROM session_entries k JOIN sessions s ON s.session_no = k.session_no
    WHERE k.tenant = ?1 AND k.key = ?2"""
ROUTES = """
    SELECT r.key, s.session_id, r.started_at, r.ended_at
    FROM session_routes r JOIN sessions s ON s.session_no = r.session_no
    WHERE r.tenant = ?1 AND r.key = ?2 {earlier} ORDER BY r.started_at DESC, r.session_no DESC LIMIT ?3"""
EARLIER = """
    AND (r.started_at, r.session_no) < (SELECT started_at, session_no FROM session_routes
      WHERE tenant = ?1 AND key = ?2 AND session_no = ?4)"""
ROUTE_OF = """
    SELECT r.session_no FROM session_routes r JOIN sessions s ON s.session_no = r.session_no
    WHERE r.tenant = ?1 AND r.key = ?2 AND s.session_id = ?3"""
SPAN = "SELECT min(started_at), max(ended_at) FROM session_routes WHERE tenant = ?1 AND key = ?2"
LAST_ROUTE = """
    SELECT s.session_id, s.agent
    FROM session_routes r JOIN sessions s ON s.session_no = r.session_no
    WHERE r.tenant = ?1 AND r.key = ?2 ORDER BY r.ended_at DESC, r.started_at DESC, r.session_no DESC LIMIT 1"""
ENDED_SINCE = "SELECT 1 FROM session_routes WHERE tenant = ?1 AND key = ?2 AND ended_at > ?3 LIMIT 1"
ROUTES_TO = """
    SELECT r.key, s.session_id, r.started_at, r.ended_at
    FROM session_routes r JOIN sessions s ON s.session_no = r.session_no
    WHERE r.session_no = ?1 ORDER BY r.key"""
KEYS_TO = "SELECT key FROM session_entries WHERE session_no = ?1 ORDER BY key"
ENTRIES_TO = "SELECT key, created_at FROM session_entries WHERE session_no = ?1 ORDER BY key"
PUT_ENTRY = """
    INSERT INTO session_entries (tenant, key, session_no, document, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?6, ?5)
    ON CONFLICT (tenant, key) DO UPDATE SET session_no = excluded.session_no, updated_at = excluded.updated_at"""
END_ROUTES = """
    UPDATE session_routes SET ended_at = ?3 WHERE tenant = ?1 AND key = ?2 AND ended_at IS NULL"""
PUT_ROUTE = """
    INSERT INTO session_routes (tenant, key, session_no, started_at, ended_at) VALUES (?1, ?2, ?3, ?4, NULL)
    ON CONFLICT (tenant, key, session_no) DO UPDATE SET ended_at = NULL"""
DROP_ENTRIES = "DELETE FROM session_entries WHERE session_no = ?1"
END_ROUTES_TO = "UPDATE session_routes SET ended_at = ?2 WHERE session_no = ?1 AND ended_at IS NULL"


@dataclass(frozen=True, slots=True)
class Reset:
    """What a reset did: the session that was left, the one that follows, and the keys that moved."""

    previous: str
    session_id: str
    keys: tuple[str, ...]


class Keys(Part):
    """`store.keys`."""

    __slots__ = ()

    async def resolve(self, key: str, *, session_id: str | None = None, agent: str = DEFAULT_AGENT) -> KeyEntry:
        """Where the key routes now; a key without a session is routed to `session_id`, or to one made for it."""
        chosen = check_session_id(session_id) if session_id is not None else self.ids()
        return await self._routed(key, (chosen,), agent)

    async def open(self, key: str, *, agent: str = DEFAULT_AGENT) -> KeyEntry:
        """Where the key routes now; a key without a session gets a new one.

        A key's first session is named after it. Later ones have fresh ids, and so has the first if a session of that
        name was deleted.
        """
        return await self._routed(key, (session_id_for(check_name(key, "a session key")), self.ids()), agent)

    async def _routed(self, key: str, names: tuple[str, ...], agent: str) -> KeyEntry:
        """Where the key routes now; a key without a session is routed to the first of these names that it may have."""
        check_name(key, "a session key")
        body = SessionCreated(agent=check_name(agent, "an agent's name"))
        found = await self.workers.read(lambda tx: find(tx, self.tenant, key), ReadLength.LOOK)
        if found is not None:
            return found
        now = self.clock.now()
        event = self.own_event(body)

        def write(tx: Tx) -> KeyEntry:
            there = find(tx, self.tenant, key)
            if there is not None:
                return there
            chosen = names[0] if len(names) == 1 or _is_first(tx, self.tenant, key, names[0]) else names[1]
            if agent != DEFAULT_AGENT and head_of(tx, self.tenant, chosen) is None:
                append(tx, self.tenant, chosen, [event])
                describe(tx, self.tenant, chosen, lambda facts: created(facts, body))
            head = open_head(tx, self.tenant, chosen, now)
            route(tx, self.tenant, key, head.session_no, now)
            return KeyEntry(key, chosen, {}, now, now)

        locks = (*(self.lock(name) for name in names), key_lock(self.tenant, key))
        return await self.workers.write(write, locks)

    async def get(self, key: str) -> KeyEntry:
        """Where the key routes now, or NotFound."""
        check_name(key, "a session key")
        found = await self.workers.read(lambda tx: find(tx, self.tenant, key), ReadLength.LOOK)
        if found is None:
            raise NotFound(f"there is no session key {key!r}", key=key)
        return found

    async def routes(self, key: str, *, limit: int = MAX_ROUTES, before: str | None = None) -> list[Route]:
        """The newest sessions that the key has routed to, or the newest before one of them, oldest first."""
        check_name(key, "a session key")
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_ROUTES:
            raise InvalidInput(f"limit must be 1 to {MAX_ROUTES}, not {limit!r:.80}")

        def read(tx: Tx) -> list[tuple[Any, ...]]:
            if before is None:
                return tx.all(ROUTES.format(earlier=""), self.tenant, key, limit)
            place = tx.one(ROUTE_OF, self.tenant, key, check_session_id(before))
            if place is None:
                raise InvalidInput(f"key {key!r:.80} never routed to {before!r:.80}", hint="use the page's own cursor")
            return tx.all(ROUTES.format(earlier=EARLIER), self.tenant, key, limit, place[0])

        return [Route(*row) for row in reversed(await self.workers.read(read))]

    async def span(self, key: str) -> tuple[int, int]:
        """When the key's first route began and when its last one ended, of a key whose session was deleted."""
        found = await self.workers.read(lambda tx: tx.one(SPAN, self.tenant, key), ReadLength.LOOK)
        if found is None or found[0] is None:
            raise NotFound(f"there is no session key {key!r}", key=key)
        return (found[0], found[1] or found[0])

    async def of_session(self, session_id: str) -> list[Route]:
        """Every key that routes, or once routed, to a session."""
        check_session_id(session_id)
        return await self.workers.read(lambda tx: routes_to(tx, existing_head(tx, self.tenant, session_id).session_no))

    async def reset(self, key: str, *, new_session_id: str | None = None) -> Reset:
        """Route the key to a new, empty session; the old one stays, unless it was deleted, and each names the other."""
        check_name(key, "a session key")
        entry = await self.workers.read(lambda tx: find(tx, self.tenant, key))
        if entry is None:
            return await self._renew(key, new_session_id)
        try:
            return await self._reset(entry.session_id, (key,), new_session_id)
        except SessionGone:
            now = await self.workers.read(lambda tx: find(tx, self.tenant, key))
            if now is not None and now.session_id == entry.session_id:
                raise  # the id that was chosen for the new session is that of a deleted one
            return await self.reset(key, new_session_id=new_session_id)

    async def reset_session(self, session_id: str, *, new_session_id: str | None = None) -> Reset:
        """Let a new, empty session take the place of this one on all its keys."""
        check_session_id(session_id)
        keys = await self.workers.read(lambda tx: keys_to(tx, self.tenant, session_id), ReadLength.LOOK)
        return await self._reset(session_id, keys, new_session_id)

    async def _reset(self, session_id: str, keys: tuple[str, ...], new_session_id: str | None) -> Reset:
        chosen = check_session_id(new_session_id) if new_session_id is not None else self.ids()
        begun = self.own_draft(SessionCreated)
        left = self.own_event(SessionReset(chosen, list(keys), "reset"))

        def write(tx: Tx) -> Reset:
            old = existing_head(tx, self.tenant, session_id)
            there = head_of(tx, self.tenant, chosen)
            if there is not None:
                if tx.rerun and get_facts(tx, there.session_no).document.get("previousSession") == session_id:
                    return Reset(session_id, chosen, keys)
                raise Conflict(f"there is a session {chosen!r} already", session_id=chosen)
            facts = get_facts(tx, old.session_no)
            body = SessionCreated(agent=facts.agent, user_id=facts.user_id, previous_session=session_id)
            append(tx, self.tenant, chosen, [with_body(begun, body)])
            describe(tx, self.tenant, chosen, lambda facts: created(facts, body))
            supersede(tx, self.tenant, session_id, left, keys, chosen)
            return Reset(session_id, chosen, keys)

        locks = (self.lock(session_id), self.lock(chosen), *(key_lock(self.tenant, key) for key in keys))
        return await self.workers.write(write, locks, 2)

    async def _renew(self, key: str, new_session_id: str | None) -> Reset:
        """A new, empty session on a key whose last one was deleted; NotFound if it never had one."""
        chosen = check_session_id(new_session_id) if new_session_id is not None else self.ids()
        last = await self.workers.read(lambda tx: tx.one(LAST_ROUTE, self.tenant, key))
        if last is None:
            raise NotFound(f"there is no session key {key!r}", key=key)
        body = SessionCreated(agent=last[1], previous_session=last[0])
        begun = self.own_event(body)
        done = Reset(last[0], chosen, (key,))

        def write(tx: Tx) -> Reset:
            there = find(tx, self.tenant, key)
            if there is not None:
                if tx.rerun and there.session_id == chosen:
                    return done
                raise Conflict(f"key {key!r} has moved on meanwhile", key=key)
            if head_of(tx, self.tenant, chosen) is not None:
                raise Conflict(f"there is a session {chosen!r} already", session_id=chosen)
            append(tx, self.tenant, chosen, [begun])
            describe(tx, self.tenant, chosen, lambda facts: created(facts, body))
            route(tx, self.tenant, key, existing_head(tx, self.tenant, chosen).session_no, begun.created_at)
            return done

        return await self.workers.write(write, (self.lock(chosen), key_lock(self.tenant, key)))


def find(tx: Tx, tenant: str, key: str) -> KeyEntry | None:
    """Where the key routes now, or None."""
    row = tx.one(GET, tenant, key)
    return None if row is None else KeyEntry(row[0], row[1], strict_json.parse(row[2]), row[3], row[4])


def was_left_since(tx: Tx, tenant: str, key: str, at: int) -> bool:
    """Whether the key was reset, or a session of it deleted, after this time."""
    return tx.one(ENDED_SINCE, tenant, key, at) is not None


def _is_first(tx: Tx, tenant: str, key: str, session_id: str) -> bool:
    """Whether the key never had a session, and no session of this name was deleted."""
    if tx.one(LAST_ROUTE, tenant, key) is not None:
        return False
    try:
        head_of(tx, tenant, session_id)
    except SessionGone:
        return False
    return True


def keys_to(tx: Tx, tenant: str, session_id: str) -> tuple[str, ...]:
    """The keys that route to a session now."""
    return tuple(row[0] for row in tx.all(KEYS_TO, existing_head(tx, tenant, session_id).session_no))


def routes_to(tx: Tx, session_no: int) -> list[Route]:
    """Every key that routes, or once routed, to a session."""
    return [Route(*row) for row in tx.all(ROUTES_TO, session_no)]


def entries_to(tx: Tx, session_no: int) -> list[tuple[str, int]]:
    """The keys that route to a session now, and since when each of them is there."""
    return [(row[0], row[1]) for row in tx.all(ENTRIES_TO, session_no)]


def route(tx: Tx, tenant: str, key: str, session_no: int, at: int, *, made_at: int | None = None) -> None:
    """Let a key, new or not, route to a session from now on; one that comes back was made before."""
    tx.run(END_ROUTES, tenant, key, at)
    tx.run(PUT_ENTRY, tenant, key, session_no, b"{}", at, at if made_at is None else made_at)
    tx.run(PUT_ROUTE, tenant, key, session_no, at)


def route_back(tx: Tx, tenant: str, key: str, session_no: int, at: int, *, left_at: int, made_at: int | None) -> bool:
    """Let a key route again to the session that it lost when that was deleted; False, and it stays as it is, if it was
    used meanwhile: it routes to another session, or did and that was deleted too."""
    if find(tx, tenant, key) is not None or was_left_since(tx, tenant, key, left_at):
        return False
    first = tx.one(SPAN, tenant, key)
    route(tx, tenant, key, session_no, at, made_at=first[0] if made_at is None and first is not None else made_at)
    return True


def supersede(
    tx: Tx, tenant: str, session_id: str, event: PreparedEvent, keys: tuple[str, ...], successor: str
) -> None:
    """Move keys from a session to its successor, and say so in the log of the one that is left."""
    append(tx, tenant, session_id, [event])
    describe(tx, tenant, session_id, lambda facts: superseded(facts, SessionReset(successor)))
    session_no = existing_head(tx, tenant, successor).session_no
    for key in keys:
        there = find(tx, tenant, key)
        if there is None or there.session_id != session_id:
            raise Conflict(f"key {key!r} has moved on meanwhile", key=key)
        route(tx, tenant, key, session_no, event.created_at)


def unroute(tx: Tx, session_no: int, at: int) -> None:
    """End every key's way to a session that is deleted: the key's next use makes a new one."""
    tx.run(DROP_ENTRIES, session_no)
    tx.run(END_ROUTES_TO, session_no, at)
