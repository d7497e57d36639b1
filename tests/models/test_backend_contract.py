"""What programs rely on: the shapes of what goes to a model and comes back, and what every backend takes."""

import json
from collections.abc import Callable

import pytest
from tests.support.scripted_server import Answer, endpoint

from holdfast.models import (
    AnthropicBackend,
    Backend,
    CompletionResponse,
    Message,
    OpenAIBackend,
    Role,
    ScriptedBackend,
    SimulatorBackend,
    ToolCall,
)

HELLO = [Message(Role.USER, "Hello")]
CHAT = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}
MESSAGES = {"content": [{"type": "text", "text": "Hi"}]}


def test_the_shapes_that_callers_rely_on() -> None:
    assert [role.name for role in Role] == ["SYSTEM", "USER", "ASSISTANT", "TOOL"]
    message = Message(Role.ASSISTANT, "hi")
    assert (message.role, message.content, message.tool_calls, message.tool_call_id) == (Role.ASSISTANT, "hi", [], None)
    call = ToolCall(id="1", name="read", arguments={"file_path": "a"})
    assert Message(role=Role.ASSISTANT, content="", tool_calls=[call]).tool_calls == [call]
    assert Message(role=Role.TOOL, content="x", tool_call_id="1").tool_call_id == "1"
    response = CompletionResponse("hi")
    assert (response.content, response.tool_calls, response.usage) == ("hi", [], {})
    assert (type(response.tool_calls), type(response.usage)) == (list, dict)
    assert ScriptedBackend(completions=[], streams=[]).supports_native_tools is True
    assert ScriptedBackend([response], supports_native_tools=False).supports_native_tools is False


@pytest.mark.parametrize(
    ("make", "answer", "own"),
    [
        (lambda url: OpenAIBackend(url, "m"), CHAT, None),
        (lambda url: AnthropicBackend(url, "m", max_tokens=77), MESSAGES, 77),
    ],
    ids=["openai", "anthropic"],
)
async def test_temperature_and_tokens_are_sent_if_they_are_given(
    make: Callable[[str], Backend], answer: dict[str, object], own: int | None
) -> None:
    with endpoint(*[Answer(json.dumps(answer).encode())] * 3) as server:
        backend = make(server.base_url)
        assert backend.supports_native_tools
        await backend.complete(HELLO)
        await backend.complete(HELLO, temperature=0.0, max_tokens=5)
        with pytest.raises(Exception, match="not a stream"):
            await anext(aiter(backend.stream(HELLO, temperature=0.5, max_tokens=6)))
    sent = [(body.get("temperature"), body.get("max_tokens")) for _, _, body in server.requests]
    assert sent == [(None, own), (0.0, 5), (0.5, 6)]


async def test_a_script_keeps_them_and_the_simulator_takes_them() -> None:
    script = ScriptedBackend([CompletionResponse("a"), CompletionResponse("b")])
    await script.complete(HELLO, temperature=0.3, max_tokens=9)
    assert [item async for item in script.stream(HELLO)] == ["b", CompletionResponse("b")]
    assert [(call.temperature, call.max_tokens) for call in script.invocations] == [(0.3, 9), (None, None)]
    simulator = SimulatorBackend()
    assert simulator.supports_native_tools
    assert await simulator.complete(HELLO, temperature=1.0, max_tokens=1) == await simulator.complete(HELLO)
