"""A LangGraph agent over A2A, its conversations kept by Holdfast: `python langgraph_agent.py DATA PORT`.

Needs `langgraph` and `langchain-openai`; the model is the one at `OPENAI_BASE_URL`.
"""

import os
import sys
from collections.abc import AsyncIterator

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

from holdfast.a2a import Role, Turn, serve

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
agent = graph.compile()


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The graph's answer as it comes."""
    past = [(HumanMessage if said.role is Role.USER else AIMessage)(said.text) for said in turn.history]
    heard = {"messages": [*past, HumanMessage(turn.text)]}
    async for piece, _ in agent.astream(heard, stream_mode="messages"):
        yield piece.text


if __name__ == "__main__":
    serve(handle, data=sys.argv[1], port=int(sys.argv[2]), name="langgraph")
