"""Our backends against the simulator as a process: both APIs, tools, images, faults and cuts."""

from collections.abc import Callable, Iterator

import pytest
from tests.models.simulators import Simulated, simulated

from holdfast.models import (
    AnthropicBackend,
    Backend,
    CompletionResponse,
    Message,
    ModelError,
    ModelUnreachable,
    OpenAIBackend,
    Retries,
    Role,
    SimulatorBackend,
    Tool,
    image_part,
    text_part,
)

SCHEMA = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "text": {"type": "string"}},
    "required": ["file_path", "text"],
}
APPEND = Tool("append_file", "Append a line to a file.", SCHEMA)
QUICK = Retries(3, 0.001)

Make = Callable[[str], Backend]


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulated]:
    with simulated() as running:
        yield running


@pytest.fixture(
    params=[
        lambda url: OpenAIBackend(url + "/v1", "sim-1", retries=QUICK),
        lambda url: AnthropicBackend(url, "sim-1", retries=QUICK),
    ],
    ids=["openai", "anthropic"],
)
def backend(request: pytest.FixtureRequest, simulator: Simulated) -> Backend:
    make: Make = request.param
    return make(simulator.url)


async def streamed(backend: Backend, prompt: list[Message], tools: list[Tool]) -> CompletionResponse:
    *pieces, whole = [item async for item in backend.stream(prompt, tools)]
    assert isinstance(whole, CompletionResponse)
    assert "".join(map(str, pieces)) == whole.content
    return whole


async def test_an_answer_is_the_same_whole_streamed_and_in_process(backend: Backend) -> None:
    prompt = [
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, "My name is Ada ü. What is my name?"),
    ]
    whole = await backend.complete(prompt)
    assert whole.content == (await SimulatorBackend().complete(prompt)).content
    assert await streamed(backend, prompt, []) == whole
    assert {"prompt_tokens", "completion_tokens", "total_tokens"} <= set(whole.usage)


async def test_a_tool_is_called_and_its_result_is_told(backend: Backend) -> None:
    prompt = [Message(Role.USER, "Append the line hello to the file a.txt")]
    called = await streamed(backend, prompt, [APPEND])
    (call,) = called.tool_calls
    assert (call.name, call.arguments) == ("append_file", {"file_path": "a.txt", "text": "hello"})
    prompt += [
        Message(Role.ASSISTANT, called.content, called.tool_calls),
        Message(Role.TOOL, "appended", tool_call_id=call.id),
    ]
    assert "appended" in (await streamed(backend, prompt, [APPEND])).content


async def test_an_image_is_seen(backend: Backend) -> None:
    prompt = [Message(Role.USER, [text_part("Hello"), image_part("image/png", b"\x89PNG")])]
    assert "image" in (await streamed(backend, prompt, [])).content


async def test_what_passes_is_tried_again(backend: Backend, simulator: Simulated) -> None:
    simulator.post("/faults", [{"kind": "429"}, {"kind": "500"}, {"kind": "529"}])
    assert "Ada" in (await streamed(backend, [Message(Role.USER, "My name is Ada.")], [])).content
    simulator.post("/faults", [{"kind": "503", "times": 4}])
    with pytest.raises(ModelError):
        await backend.complete([Message(Role.USER, "My name is Ada.")])


async def test_a_cut_is_no_answer(backend: Backend, simulator: Simulated) -> None:
    simulator.post("/faults", [{"kind": "cut"}])
    got = []
    with pytest.raises(ModelUnreachable):
        async for item in backend.stream([Message(Role.USER, "Say " + "word " * 40)]):
            got.append(item)
    assert got
    assert all(isinstance(item, str) for item in got)
