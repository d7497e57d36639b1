"""LangGraph over A2A, with its own persistence: a checkpointer for each conversation, a store for what outlives them.

A thread of LangGraph's is a conversation of A2A. Holdfast has the tasks, the order of turns and the messages that come
again; what was said is in LangGraph's checkpoints, and what it was asked to remember in its store.
"""

import base64
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import aiosqlite
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode, tools_condition
from langgraph.store.base import BaseStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from holdfast.a2a import Turn, data_folder, serve_from_environment

FOLDER = data_folder("langgraph")
CHECKPOINTS, MEMORIES = str(FOLDER / "checkpoints.db"), str(FOLDER / "memories.db")
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
PATIENCE = 60.0
"""Seconds for which a turn waits for others to write: SQLite has one writer at a time."""
NAMESPACE = ("memories",)


@tool
async def remember(key: str, value: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Remember a fact under a key, for every conversation to come."""
    await store.aput(NAMESPACE, key, {"value": value})
    return f"Remembered: {key} is {value}."


@tool
async def recall(query: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Recall what was remembered, in this conversation or another: all of it, the newest first."""
    found = await store.asearch(NAMESPACE, limit=100)
    return "\n".join(f"{item.key}: {item.value['value']}" for item in found) or "Nothing is remembered."


def in_workspace(path: str) -> Path:
    """The path below the workspace; whatever leads out of it is refused, and the model is told so."""
    if not (found := (WORKSPACE / path).resolve()).is_relative_to(WORKSPACE):
        raise ToolException(f"{path} is not in the workspace")
    return found


@tool
def read_file(path: str) -> str:
    """Read a file of the workspace. What a skill is for, and how to use it, is in skills/NAME/SKILL.md."""
    return in_workspace(path).read_text()


@tool
def append_to_file(path: str, line: str) -> str:
    """Append a line to a file of the workspace."""
    with in_workspace(path).open("a") as file:
        file.write(f"{line}\n")
    return f"Appended to {path}."


TOOLS = [remember, recall, read_file, append_to_file]
model = ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "sim-1"), timeout=120).bind_tools(TOOLS)


async def answer(state: MessagesState) -> dict[str, Any]:
    """The graph's own word."""
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("answer", answer)
graph.add_node("tools", ToolNode(TOOLS, handle_tool_errors=(OSError, ValueError, ToolException)))
graph.add_edge(START, "answer")
graph.add_conditional_edges("answer", tools_condition)
graph.add_edge("tools", "answer")


async def content(turn: Turn) -> list[str | dict[str, Any]]:
    """The message as LangChain's content blocks: its text, if it has any, and its files."""
    blocks: list[str | dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    for file in turn.attachments:
        data = await file.read()
        if file.media_type.startswith("text/"):
            blocks.append({"type": "text", "text": f"[File {file.name}]\n{data.decode(errors='replace')}"})
            continue
        kind = "image" if file.media_type.startswith("image/") else "file"
        known = {"mime_type": file.media_type, "filename": file.name}
        blocks.append({"type": kind, "source_type": "base64", "data": base64.b64encode(data).decode(), **known})
    return blocks


def cut_off(kept: list[AnyMessage]) -> list[AnyMessage]:
    """A word for each call of a tool that has no result, as its turn was canceled or failed: a model wants one."""
    answered = {each.tool_call_id for each in kept if isinstance(each, ToolMessage)}
    calls = [call["id"] for each in kept if isinstance(each, AIMessage) for call in each.tool_calls]
    return [ToolMessage("It was cut off.", tool_call_id=call) for call in calls if call not in answered]


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The graph's answer as it comes; its past is the graph's own."""
    # An id that comes again with other words is another message.
    this = f"{turn.message_seq}-{turn.message_id}"
    thread: Any = {"configurable": {"thread_id": turn.context_id}}
    async with AsyncExitStack() as opened:
        checkpoints, memories = [
            # Each statement is its own transaction: a turn that is canceled between two leaves none open.
            await opened.enter_async_context(aiosqlite.connect(path, timeout=PATIENCE, isolation_level=None))
            for path in (CHECKPOINTS, MEMORIES)
        ]
        store = await opened.enter_async_context(AsyncSqliteStore(memories))
        agent = graph.compile(checkpointer=AsyncSqliteSaver(checkpoints), store=store)
        # A turn that a dead process left goes on from its last checkpoint, if its message had come that far: LangGraph
        # does that when it is given nothing. Each step is kept before the next.
        kept = (await agent.aget_state(thread)).values.get("messages", [])
        said: list[AnyMessage] = [*cut_off(kept), HumanMessage(await content(turn), id=this)]
        heard: MessagesState | None = {"messages": said}
        if turn.interrupted and this in (ids := [each.id for each in kept]):
            heard = None
            for each in kept[ids.index(this) :]:
                if isinstance(each, AIMessage) and each.text:
                    yield each.text
        async for piece, _ in agent.astream(heard, thread, stream_mode="messages", durability="sync"):
            if isinstance(piece, AIMessageChunk) and piece.text:
                yield piece.text


if __name__ == "__main__":
    # The tables are there before turns come at once: making them is what SQLite lets nobody share.
    with SqliteSaver.from_conn_string(CHECKPOINTS) as first, SqliteStore.from_conn_string(MEMORIES) as second:
        first.setup()
        second.setup()
    serve_from_environment(handle, name="langgraph", version=version("langgraph"), resume=True)
