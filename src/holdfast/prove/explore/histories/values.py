"""The values of facts: words that no model knows, in many forms, each of which an answer shows by its marks.

A mark is a word that stands in one value and in no other of a history, so an answer tells where it has a value from. A
value is known if all of its marks are in the answer: how an answer writes the rest is the model's business.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from random import Random

FIRST = "BCDFGHJKLMNPQRSTVWXZ"
LATER = "abcdefghjkmnpqrstuvwxyz"
DIGITS = "23456789"
SCRIPTS = (
    "αβγδεζηθκλμνξπρστφχψω",
    "бгджзиклмнпрстуфцчшщэюя",
    "אבגדהוזחטכלמנסעפצקרשת",
    "अआइउकखगघचजटडतदनपबमरलवसह",
    "日月山川田人口目手足花鳥風雪星森海空石火",
)
TWINS = str.maketrans("aceopxy", "асеорху")
"""Letters of Latin, and those of Cyrillic that look the same."""
LONG = 24


class Form(StrEnum):
    """What a value looks like."""

    WORD = "word"
    WORDS = "words"
    LONG = "long"
    SCRIPT = "script"
    QUOTES = "quotes"
    LINES = "lines"
    TWIN = "twin"


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it is told, and the marks that an answer shows it by."""

    text: str
    marks: tuple[str, ...]

    def known_in(self, answer: str) -> bool:
        """Whether an answer tells the value."""
        return all(shows(answer, mark) for mark in self.marks)

    def hinted_in(self, answer: str) -> bool:
        """Whether an answer has anything of the value."""
        return any(shows(answer, mark) for mark in self.marks)


def draw(seed: int, number: int, form: Form) -> Value:
    """The value of that number in a history with that seed: the same on every machine."""
    random = Random(f"{seed}/value/{number}")
    word, other = _word(random), _word(random)
    match form:
        case Form.WORD:
            return Value(word, (word,))
        case Form.WORDS:
            return Value(f"{word} {other}", (word, other))
        case Form.LONG:
            words = [word, *(_word(random) for _ in range(LONG)), other]
            return Value(" ".join(words), (word, words[len(words) // 2], other))
        case Form.SCRIPT:
            alphabet = random.choice(SCRIPTS)
            foreign = "".join(random.choice(alphabet) for _ in range(8))
            return Value(foreign, (foreign,))
        case Form.QUOTES:
            return Value(f"{word} \"'`\\ {{{{it's}}}} %s &amp; {other}", (word, other))
        case Form.LINES:
            return Value(f"{word}\n{other}", (word, other))
        case Form.TWIN:
            # What looks like the value of the number before it, and is another.
            before = draw(seed, number - 1, Form.WORD).text
            twin = before[:2] + before[2:].translate(TWINS)
            return Value(twin, (twin,)) if twin != before else Value(word, (word,))


def shows(answer: str, mark: str) -> bool:
    """Whether a mark is in an answer, in whatever case; one in plain letters as a word of its own."""
    answer, mark = _plain(answer), _plain(mark)
    if mark.isascii():
        return re.search(rf"(?<![^\W_]){re.escape(mark)}(?![^\W_])", answer) is not None
    return mark in answer


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _word(random: Random) -> str:
    """A word such as Zqf7kay: found in no corpus, and with letters that others look like."""
    tail = "".join(random.choice(LATER) for _ in range(3))
    return random.choice(FIRST) + random.choice(LATER) + random.choice(DIGITS) + random.choice("aceopxy") + tail
