"""Long answers on request, always the same: numbers counted up, or a story of so many words."""

import re

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
