"""LangGraph's own checkpoints, in a SQLite file: one thread for each case, gone once the case is done."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeAlias

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

Checkpoints: TypeAlias = Any
"""An AsyncSqliteSaver; its types are only in the venvs of the programs."""


def checkpoint_file(data: Path) -> AbstractAsyncContextManager[Checkpoints]:
    """The checkpoints of a data folder."""
    found: AbstractAsyncContextManager[Checkpoints] = AsyncSqliteSaver.from_conn_string(str(data / "graph.sqlite"))
    return found


async def go_on(graph: Any, checkpoints: Checkpoints, name: str, case: Any) -> Any:
    """Run a case from its last checkpoint, or from the start if there is none; each step is kept before the next."""
    config: Any = {"configurable": {"thread_id": name}}
    begun = await checkpoints.aget_tuple(config)
    return await graph.ainvoke(None if begun else case, config, durability="sync")


async def forget_others(checkpoints: Checkpoints, waiting: Iterable[str]) -> None:
    """Drop what belongs to no case that waits: the process died when it had moved it."""
    await checkpoints.setup()
    async with checkpoints.conn.execute("SELECT DISTINCT thread_id FROM checkpoints") as rows:
        known = {str(row[0]) for row in await rows.fetchall()}
    for name in known - set(waiting):
        await checkpoints.adelete_thread(name)
