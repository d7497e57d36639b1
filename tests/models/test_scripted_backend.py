"""The script: replays in order, keeps what it was asked, and says when it has run out."""

import pytest

from holdfast.models import (
    Backend,
    CompletionResponse,
    Message,
    Role,
    ScriptedBackend,
    SimulatorBackend,
    Tool,
)

HELLO = [Message(Role.USER, "Hello")]
TOOL = Tool("f", "", {})


async def test_it_replays_in_order_and_keeps_what_it_was_asked() -> None:
    first, second = CompletionResponse("one"), CompletionResponse("two")
    script = ScriptedBackend(completions=[first, second])
    backend: Backend = script
    assert await backend.complete(HELLO, [TOOL]) == first
    assert [item async for item in backend.stream(HELLO)] == ["two", second]
    assert [(call.messages, call.tools, call.streamed) for call in script.invocations] == [
        (HELLO, [TOOL], False),
        (HELLO, [], True),
    ]
    with pytest.raises(AssertionError):
        await backend.complete(HELLO)
    with pytest.raises(AssertionError):
        await anext(aiter(backend.stream(HELLO)))


async def test_streams_are_replayed_piece_by_piece() -> None:
    whole = CompletionResponse("", usage={"prompt_tokens": 1})
    script = ScriptedBackend(completions=[whole], streams=[["a", "b"], [whole]])
    assert [item async for item in script.stream(HELLO)] == ["a", "b", CompletionResponse("ab")]
    assert [item async for item in script.stream(HELLO)] == [whole]
    with pytest.raises(AssertionError):
        await anext(aiter(script.stream(HELLO)))
    assert await script.complete(HELLO) == whole


async def test_the_simulator_streams_a_few_words_at_a_time() -> None:
    prompt = [Message(Role.USER, "Say one two three  four\nfive six.")]
    *pieces, whole = [item async for item in SimulatorBackend().stream(prompt)]
    assert whole == await SimulatorBackend().complete(prompt)
    assert isinstance(whole, CompletionResponse)
    assert "".join(map(str, pieces)) == whole.content
    assert len(pieces) > 1
