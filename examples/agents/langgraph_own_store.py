"""A LangGraph agent over A2A that keeps its conversations itself: `python langgraph_own_store.py DATA PORT`.

Holdfast has the tasks, the order of turns and the messages that come again; what was said is in LangGraph's own
checkpoints, a thread for each conversation. A turn that a dead process left behind goes on from its last checkpoint, if
its message is there, so neither the message nor its answer is there twice.

Needs `langgraph`, `langgraph-checkpoint-sqlite` and `langchain-openai`; the model is the one at `OPENAI_BASE_URL`.
"""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from holdfast.a2a import Turn, serve

DATA = Path(sys.argv[1])
CHECKPOINTS = str(DATA / "checkpoints.db")
PATIENCE = 60.0
"""Seconds for which a turn waits for others to write: SQLite has one writer at a time."""
model = ChatOpenAI(
    model=os.environ.get("OPENAI_MODEL", "sim-1"),
    base_url=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ.get("OPENAI_API_KEY", "none"),  # type: ignore[arg-type]
)


async def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:
    """The graph's one node."""
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("answer", answer)
graph.add_edge(START, "answer")
graph.add_edge("answer", END)


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The graph's answer as it comes; its past is the graph's own."""
    # Each statement is its own transaction: a turn that is canceled between two leaves none open, which would lock
    # all others out.
    async with aiosqlite.connect(CHECKPOINTS, timeout=PATIENCE, isolation_level=None) as connection:
        agent = graph.compile(checkpointer=AsyncSqliteSaver(connection))
        # An id that comes again with other words is another message.
        this = f"{turn.message_seq}-{turn.message_id}"
        heard: MessagesState | None = {"messages": [HumanMessage(turn.text, id=this)]}
        thread: Any = {"configurable": {"thread_id": turn.context_id}}
        kept = (await agent.aget_state(thread)).values.get("messages", []) if turn.interrupted else []
        if this in (ids := [each.id for each in kept]):
            heard = None
            for each in kept[ids.index(this) + 1 :]:
                yield each.text
        async for piece, _ in agent.astream(heard, thread, stream_mode="messages", durability="sync"):
            yield piece.text  # type: ignore[union-attr]


if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    with SqliteSaver.from_conn_string(CHECKPOINTS) as first:
        first.setup()  # the tables are there before turns come at once: making them is what SQLite lets nobody share
    serve(handle, data=sys.argv[1], port=int(sys.argv[2]), name="langgraph-own-store", resume=True)
