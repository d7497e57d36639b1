"""What a tool says that it does is what it does: all rows of the store and all that readers find, before and after."""

from typing import Any

import apsw
from fastapi import FastAPI
from mcp import Client
from tests.mcp_server.clients import CALLS, KEYS, done, furnish, mcp_client, web

from holdfast.gateway.app import create_app
from holdfast.store import open_store

Rows = dict[str, set[tuple[Any, ...]]]
Facts = set[tuple[str, ...]]

INDEX = ("event_text", "event_days", "search_progress")
"""How tables begin that say where words are: an idle store brings them up to date, and so does a search."""


def rows_of(url: str) -> Rows:
    """Every row of every table but those of the index of words."""
    connection = apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        kept = [name for name in names if not name.startswith(INDEX)]
        return {name: set(connection.execute(f'SELECT * FROM "{name}"')) for name in kept}
    finally:
        connection.close()


async def facts_of(app: FastAPI, client: Client) -> Facts:
    """What a reader finds, one by one: an addition leaves all of them as they are."""
    found: Facts = set()
    for session in (await done(client, "list_sessions", limit=100))["sessions"]:
        name = session["sessionId"]
        found.add((name, "status", session["status"]))
        found |= {(name, "tag", tag) for tag in session["tags"]}
        state = await done(client, "get_state", sessionId=name)
        found |= {(name, "goal", str(goal)) for goal in state.pop("goals")}
        found |= {(name, "state", member, str(value)) for member, value in state.items() if member != "version"}
        events = await done(client, "read_events", sessionId=name, limit=100)
        found |= {(name, "event", str(event)) for event in events["events"]}
        checkpoints = await done(client, "list_checkpoints", sessionId=name, limit=100)
        found |= {(name, "checkpoint", str(each)) for each in checkpoints["checkpoints"]}
    async with web(app) as http:
        for key in KEYS.values():
            found.add(("key", key, (await http.get(f"/api/keys/{key}")).json()["sessionId"]))
    for namespace in (await done(client, "list_memory_namespaces"))["namespaces"]:
        memories = await done(client, "list_memories", namespace=namespace["namespace"])
        found |= {("memory", memory["key"], str(memory["value"])) for memory in memories["memories"]}
    return found


async def test_tools_do_what_their_annotations_say(sqlite_url: str) -> None:
    async with await open_store(sqlite_url) as store:
        app = create_app(store)
        async with mcp_client(app) as client:
            await furnish(client)
            said = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
            for name, arguments in CALLS.items():
                hints = said[name]
                assert hints is not None
                rows, facts = rows_of(sqlite_url), set() if hints.read_only_hint else await facts_of(app, client)
                await done(client, name, **arguments)
                once, lost = rows_of(sqlite_url), facts and facts - await facts_of(app, client)
                await client.call_tool(name, arguments)  # it may be refused: there is nothing to forget any more
                assert hints.read_only_hint is (once == rows), name
                assert hints.destructive_hint is bool(lost), f"{name} took away {lost}"
                assert hints.idempotent_hint is (without_audit(rows_of(sqlite_url)) == without_audit(once)), name
                assert hints.open_world_hint is False


def without_audit(rows: Rows) -> Rows:
    """The rows without those that say who asked for what: each time is one."""
    return {name: found for name, found in rows.items() if name != "audit"}
