"""An OpenAI Agents agent over A2A, its conversations kept by Holdfast: `python openai_agents_agent.py DATA PORT`.

Needs `openai-agents`; the model is the one at `OPENAI_BASE_URL`.
"""

import os
import sys
from collections.abc import AsyncIterator

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from holdfast.a2a import Role, Turn, serve

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ.get("OPENAI_API_KEY", "none"))
agent = Agent(
    name="assistant",
    instructions="Answer in one sentence.",
    model=OpenAIResponsesModel(os.environ.get("OPENAI_MODEL", "sim-1"), client),
)


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The agent's answer as it comes."""
    past = [{"role": "user" if said.role is Role.USER else "assistant", "content": said.text} for said in turn.history]
    run = Runner.run_streamed(agent, [*past, {"role": "user", "content": turn.text}])  # type: ignore[list-item]
    async for event in run.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            yield event.data.delta


if __name__ == "__main__":
    serve(handle, data=sys.argv[1], port=int(sys.argv[2]), name="openai-agents")
