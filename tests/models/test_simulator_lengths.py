"""Long answers are as long as they are asked to be, and always the same."""

import asyncio
from contextlib import aclosing
from itertools import pairwise

import pytest

from holdfast.models import CompletionResponse, Message, Role, SimulatorBackend
from holdfast.models.simulator import answer


def said(text: str) -> str:
    return answer([Message(Role.USER, text)]).response.content


def test_counting() -> None:
    assert said("Count to 5.") == "1 2 3 4 5"
    assert said("Please count slowly to 3") == "1 2 3"
    assert len(said("count to 999999").split()) == 20_000


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("Tell me a long story of 120 words.", 120),
        ("Write an essay in about 40 words", 40),
        ("Give me a 7-word story", 7),
        ("Tell me a long story.", 500),
        ("Tell me a story of 1 words", 1),
    ],
)
def test_stories(text: str, length: int) -> None:
    assert len(said(text).split()) == length
    assert said(text) == said(text)


def test_a_story_says_nothing_twice_in_a_row() -> None:
    told = said("Tell me a long story of 300 words.").split(". ")
    assert all(one != other for one, other in pairwise(told))


def test_slowly_is_a_matter_of_the_long_answer_only() -> None:
    assert answer([Message(Role.USER, "Count slowly to 100")]).pace > 0
    assert answer([Message(Role.USER, "Count to 100")]).pace == 0
    assert answer([Message(Role.USER, "Speak slowly.")]).pace == 0


async def test_a_backend_streams_the_pieces_and_then_the_whole() -> None:
    prompt = [Message(Role.USER, "Count to 30.")]
    *pieces, whole = [piece async for piece in SimulatorBackend().stream(prompt)]
    assert len(pieces) == 30
    assert isinstance(whole, CompletionResponse)
    assert "".join(str(piece) for piece in pieces) == whole.content
    assert whole == answer(prompt).response


async def test_a_slow_stream_can_be_left_in_the_middle() -> None:
    async with aclosing(SimulatorBackend().stream([Message(Role.USER, "Count slowly to 20000.")])) as stream:  # type: ignore[type-var]
        first = [await anext(stream) for _ in range(3)]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                while True:
                    await anext(stream)
    assert first == ["1 ", "2 ", "3 "]
