"""LangGraph's AsyncSqliteSaver, through a graph: a checkpointer keeps states, not events.

An append is an update of the state, which loads the newest checkpoint, adds to its list and saves the next one; a
read is the newest state. That is what a run of a graph with a list of messages does.
"""

import operator
import sqlite3
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from holdfast.prove.store.adapter import Payload, StoreAdapter

# The newest checkpoint holds every event of the session.
DAMAGE = """
    UPDATE checkpoints SET checkpoint = x'c1c1c1'
    WHERE thread_id = ?1 AND checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ?1)"""


class Log(TypedDict):
    """The state of the graph."""

    log: Annotated[list[Any], operator.add]


class LangGraph(StoreAdapter):
    """No keys and no tenants. An old checkpoint id makes a branch rather than a refusal, so there is no `expected`."""

    subject = f"langgraph {version('langgraph')}, AsyncSqliteSaver {version('langgraph-checkpoint-sqlite')}"
    offers = frozenset({"batch", "delete", "damage"})

    def __init__(self, path: Path) -> None:
        self._path = path

    async def open(self) -> None:
        self._connection = await aiosqlite.connect(self._path)
        self._saver = AsyncSqliteSaver(self._connection)
        await self._saver.setup()
        graph = StateGraph(Log)
        graph.add_node("append", lambda _: {})
        graph.add_edge(START, "append")
        graph.add_edge("append", END)
        self._graph: Any = graph.compile(checkpointer=self._saver)

    async def close(self) -> None:
        await self._connection.close()

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        await self.append_all(session, [payload])
        return None

    async def append_all(self, session: str, payloads: Sequence[Payload]) -> None:
        await self._graph.aupdate_state(_thread(session), {"log": list(payloads)}, as_node="append")

    async def read(self, session: str) -> list[Payload]:
        found: list[Payload] = (await self._graph.aget_state(_thread(session))).values.get("log", [])
        return found

    async def delete(self, session: str) -> None:
        await self._saver.adelete_thread(session)

    async def damage(self, session: str, index: int) -> None:
        with sqlite3.connect(self._path) as connection:
            connection.execute(DAMAGE, (session,))
        connection.close()


def _thread(session: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": session}}


def factory(folder: Path) -> LangGraph:
    """The checkpoints in a file of the folder."""
    return LangGraph(folder / "checkpoints.db")
