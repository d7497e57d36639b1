"""An OpenAI Agents agent over A2A that keeps its conversations itself: `python openai_agents_own_store.py DATA PORT`.

Holdfast has the tasks, the order of turns and the messages that come again; what was said is in the SDK's own
SQLiteSession, one for each conversation. A turn that a dead process left behind is begun again, because the SDK may not
have kept its message yet; if it has, the message is taken back first, so that it is there once.

Needs `openai-agents`; the model is the one at `OPENAI_BASE_URL`.
"""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from agents import Agent, OpenAIResponsesModel, Runner, SQLiteSession, set_tracing_disabled
from openai import AsyncOpenAI

from holdfast.a2a import Turn, serve

DATA = Path(sys.argv[1])
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ.get("OPENAI_API_KEY", "none"))
agent = Agent(
    name="assistant",
    instructions="Answer in one sentence.",
    model=OpenAIResponsesModel(os.environ.get("OPENAI_MODEL", "sim-1"), client),
)


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The agent's answer as it comes; its past is the session's."""
    session = SQLiteSession(turn.context_id, DATA / "sessions.db")
    try:
        if turn.interrupted:
            await take_back(turn.text, session)
        run = Runner.run_streamed(agent, turn.text, session=session)
        async for event in run.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                yield event.data.delta
    finally:
        session.close()


async def take_back(message: str, session: SQLiteSession) -> None:
    """Remove the message if it stands at the end: a turn that was answered ends with its answer."""
    last = await session.get_items(limit=1)
    if last and last[0].get("role") == "user" and last[0].get("content") == message:
        await session.pop_item()


if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    serve(handle, data=sys.argv[1], port=int(sys.argv[2]), name="openai-agents-own-store", resume=True)
