"""How long an answer is, how long it takes, in which pieces it is streamed, and what it costs.

A user can ask for a long answer, which is always the same: numbers counted up, or a story of so many words. The user
says how long to think, and whoever serves the answer waits. A piece is a word with the space after it. A token is four
characters, or what is left of them.
"""

import re
from collections.abc import Sequence

from holdfast.core import strict_json
from holdfast.models.messages import PromptMessage, ToolCall

COUNT = re.compile(r"\bcount (?:slowly )?(?:from 1 |from one )?(?:up )?to (\d{1,6})\b", re.IGNORECASE)
STORY = re.compile(
    r"\b(?:story|essay|text|poem|answer)\b[^.?!\n]{0,40}?\b(?:of|with|in) (?:about )?(\d{1,6}) words\b"
    r"|\b(\d{1,6})[- ]words? (?:long )?(?:story|essay|text|poem|answer)\b",
    re.IGNORECASE,
)
LONG_STORY = re.compile(
    r"\b(?:tell|write|give) (?:me )?a (?:very )?long (?:story|essay|text|poem|answer)\b", re.IGNORECASE
)
SLOWLY = re.compile(r"\bslowly\b", re.IGNORECASE)

MOST = 20_000
USUAL_STORY = 500
SENTENCE = 9
SECONDS_PER_PIECE = 0.05

TALE = tuple(
    re.findall(
        r"\w+",
        "the old lighthouse keeper climbed every evening up to the lamp and wrote down which ships had passed what they"
        " carried and where they meant to go so that nobody who asked would be left without an answer",
    )
)


def long_answer(words: str) -> str | None:
    """The long answer that some words ask for, if they do."""
    if match := COUNT.search(words):
        return " ".join(str(number) for number in range(1, min(int(match[1]), MOST) + 1))
    if match := STORY.search(words):
        return _story(min(int(match[1] or match[2]), MOST))
    return _story(USUAL_STORY) if LONG_STORY.search(words) else None


def seconds_per_piece(words: str) -> float:
    """How long to wait between the pieces of a streamed answer: not at all, unless it is asked for slowly."""
    return SECONDS_PER_PIECE if SLOWLY.search(words) and long_answer(words) else 0.0


def _story(length: int) -> str:
    told = [TALE[number % len(TALE)] for number in range(length)]
    for start in range(0, length, SENTENCE):
        told[start] = told[start].capitalize()
        end = min(start + SENTENCE, length) - 1
        told[end] += "."
    return " ".join(told)


THINK = re.compile(r"\bthink for (\d+(?:\.\d+)?) seconds?\b", re.IGNORECASE)

MAX_SECONDS = 60.0


def seconds_to_think(words: str) -> float:
    """The time that `Think for N seconds` asks for, at most a minute; 0 where nothing is asked."""
    match = THINK.search(words)
    return min(float(match[1]), MAX_SECONDS) if match else 0.0


PIECE = re.compile(r"\S+\s*|\s+")


def pieces(words: str) -> list[str]:
    """The pieces of some words, which make up the words again."""
    return PIECE.findall(words)


def count_tokens(messages: Sequence[PromptMessage], content: str, calls: Sequence[ToolCall]) -> dict[str, int]:
    """Tokens of the prompt, of the completion, and of both."""
    prompt = _tokens(sum(len(message.text) + _size(message.tool_calls) for message in messages))
    completion = _tokens(len(content) + _size(calls))
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _size(calls: Sequence[ToolCall]) -> int:
    return sum(len(call.name) + len(strict_json.dump(call.arguments).decode()) for call in calls)


def _tokens(characters: int) -> int:
    return -(-characters // 4)
