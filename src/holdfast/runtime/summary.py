"""The summary that stands for the older messages of a conversation, however the conversation is kept.

It is made without a model, always the same from the same messages. It keeps every fact that the user stated, also those
of the summary that stood there before. What else the user said, word for word, and a line for each message, it keeps as
long as there is room.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.models.messages import SUMMARY_MARK, PromptMessage
from holdfast.runtime.facts import MAX_PIECE, PASTED, UserSentences, most_specific, newest, told_apart
from holdfast.runtime.sentences import pieces

MAX_LINE = 200
MAX_TOPICS = 40
MAX_FILES = 50


class Summary(msgspec.Struct, frozen=True):
    """The words for the model with the files they go with, and what these are made from."""

    text: str
    files: list[dict[str, Any]] = []
    facts: list[str] = []
    topics: list[str] = []
    others: list[str] = []
    """What else the user said."""
    messages: int = 0


@dataclass(frozen=True, slots=True)
class Saying:
    """What a summary needs to know of a message: who said it, its words, and what came with it."""

    speaker: str
    text: str
    by_user: bool
    data: Sequence[str] = ()
    files: Sequence[dict[str, Any]] = ()


def summary_of_sayings(earlier: Summary, sayings: Sequence[Saying], *, room: int, told: str | None = None) -> Summary:
    """The summary of some messages, and of what an earlier one stood for.

    `room` is how many characters the lines in short may have, and as many what the user said and did not state; `told`
    stands in for these lines.
    """
    theirs = [(saying, told_apart(saying.text)) for saying in sayings if saying.by_user]
    short_data = [value for saying, _ in theirs for value in saying.data if len(value) <= PASTED]
    facts = newest([*earlier.facts, *(fact for _, said in theirs for fact in said.stated), *short_data])
    others = most_specific([*earlier.others, *(sentence for said in theirs for sentence in _others(*said))], room)
    files = [*earlier.files, *(file for saying in sayings for file in saying.files)]
    topics = [*earlier.topics, *(_line(saying) for saying in sayings if saying.text.strip())][-MAX_TOPICS:]
    topics = _within(topics, room)
    count = earlier.messages + len(sayings)
    head = (
        f"{SUMMARY_MARK}\nThis stands for the {count} messages that came before; they are kept, and not repeated here."
    )
    short = told.strip() if told and told.strip() else _block("What was said, in short:", topics)
    asked = _block("What else the user said, word for word:", others)
    blocks = [head, short, asked, _block("What the user stated:", facts)]
    return Summary("\n\n".join(filter(None, blocks)), files[-MAX_FILES:], facts, topics, others, count)


def tokens(messages: Sequence[PromptMessage]) -> int:
    """About how many tokens some messages have: one for every four characters."""
    calls = sum(len(str(call.arguments)) for message in messages for call in message.tool_calls)
    return (sum(len(message.text) for message in messages) + calls) // 4


def _within(lines: list[str], room: int) -> list[str]:
    """The last of the lines that have so many characters together."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= len(line)
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]


def _others(saying: Saying, said: UserSentences) -> list[str]:
    """What a message of the user's says and does not state, data that is long too."""
    long_data = (value for value in saying.data if len(value) > PASTED)
    return [*said.others, *(piece for value in long_data for piece in pieces(value, MAX_PIECE))]


def _line(saying: Saying) -> str:
    words = " ".join(saying.text.split())
    if len(words) > MAX_LINE:
        words = words[:MAX_LINE].rsplit(maxsplit=1)[0] + " …"
    return f"{saying.speaker}: {words}"


def _block(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"- {line}" for line in lines)]) if lines else ""
