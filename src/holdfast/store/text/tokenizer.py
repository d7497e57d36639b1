"""Words: how text is split, folded, asked for and shown, the same on every engine.

A word is a run of letters and digits, without regard to case or accents; each Chinese, Japanese or Korean character
is a word of its own, so that what has no spaces is found too. Everything here is pure.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple
from unicodedata import category, combining, normalize

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput, InvalidJson

MAX_LENGTH = 200
"""Longer words are known by their first characters."""
MAX_TOKENS = 16_000
"""An event's words and breaks after these are not indexed (PostgreSQL counts places up to 16,383)."""
MAX_BYTES = 800_000
"""Nor are those after so many bytes of words (PostgreSQL keeps less than 1 MiB)."""
MAX_PLACES = 255
"""A word's later occurrences in one event are not part of any phrase (PostgreSQL keeps 255 places)."""
MAX_ASKED = 100
MAX_READ = 1024 * 1024
"""Of a larger payload, so many bytes are looked at; what comes after them is not indexed."""

BREAK = "¶"
"""What stands in a document where no phrase goes on; never a word."""

_STRING = re.compile(
    r'"(?P<string>[^"\\]*+(?:\\(?:u[0-9A-Fa-f]{4}|["\\/bfnrt])[^"\\]*+)*+)(?:(?P<name>"\s*+:)|"|\Z|(?=\\))'
)
"""A string of JSON, or what of it is there before the end."""
_PLAIN = re.compile(r"[0-9a-z]+")
_RUN = re.compile(r"[0-9A-Za-z\u0080-\U0010ffff]+")
_ASKED = re.compile(r'(?:(?<!\S)(-))?(?:"([^"]*)"(\*?)|([^\s"]+|"))')
_ACCENTS = frozenset({1, *range(10, 37), *range(200, 241)})  # combining classes; kana marks and viramas are none
_INVISIBLE = "\u00ad\u200c\u200d\u2060"
_HALF_WIDTH_MARKS = "\uff9e\uff9f"
_CLUSTER = 32  # normalizing a run of marks takes the square of its length
_CJK = re.compile(
    r"[\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00016fe0-\U00018dff\U0001aff0-\U0001b16f"
    r"\U00020000-\U0003ffff]"
)


class Word(NamedTuple):
    """A folded word, and where it is in its text."""

    text: str
    start: int
    end: int


class Term(NamedTuple):
    """Words that must follow each other; with `prefix` the last may go on."""

    words: tuple[str, ...]
    prefix: bool = False

    def at(self, words: Sequence[str], index: int) -> bool:
        """Whether it is there."""
        end = index + len(self.words) - 1
        if end >= len(words):
            return False
        last = self.words[-1]
        fits = words[end].startswith(last) if self.prefix else words[end] == last
        return fits and tuple(words[index:end]) == self.words[:-1]


class Query(NamedTuple):
    """All the terms must be there, and none of the excluded."""

    terms: tuple[Term, ...]
    excluded: tuple[Term, ...] = ()


class Snippet(NamedTuple):
    """A piece of text, and the (start, end) of what was asked for in it, in characters."""

    text: str
    highlights: tuple[tuple[int, int], ...]


def split(text: str) -> Iterator[Word]:
    """The folded words of a text."""
    for run in _RUN.finditer(text):
        piece = run[0]
        if piece.isascii():
            yield Word(piece[:MAX_LENGTH].lower(), run.start(), run.end())
        else:
            yield from _split_run(piece, run.start())


def leaves(value: Any) -> Iterator[str]:
    """The texts in a JSON value, in order; member names are not among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)


def texts(payload: bytes) -> list[str]:
    """The texts of a payload; none if it cannot be read (verification tells of that).

    Of one that is cut off at `MAX_READ` bytes, those that are there, the last one perhaps in part.
    """
    if len(payload) >= MAX_READ:
        return [text for text in map(_unescape, _strings(payload[:MAX_READ])) if text]
    try:
        return list(leaves(strict_json.parse_own(payload)))
    except InvalidJson:
        return []


def _strings(cut: bytes) -> Iterator[str]:
    """The strings of JSON that is cut off somewhere, as they are written there; names of members are not among them."""
    for found in _STRING.finditer(cut.decode(errors="ignore")):
        if not found["name"]:
            yield found["string"]


def _unescape(written: str) -> str:
    """The text that a string of JSON stands for; half of a character, where it was cut off, is left out."""
    text: str = json.loads(f'"{written}"', strict=False)
    return text.encode(errors="ignore").decode()


def document(texts: Sequence[str]) -> list[str]:
    """The words to index, each at its place, with breaks between the texts; see the limits above."""
    tokens: list[str] = []
    for text in texts:
        words = _words(text)
        if words:
            tokens += (BREAK, *words) if tokens else words
        if len(tokens) >= MAX_TOKENS:
            break
    return tokens if len(tokens) <= MAX_PLACES else list(_bounded(tokens[:MAX_TOKENS]))


def _words(text: str) -> list[str]:
    """The first folded words of a text; what `split` gives, faster for plain text."""
    if text.isascii() and len(text) < MAX_TOKENS:
        return [word[:MAX_LENGTH] for word in _PLAIN.findall(text.lower())]
    return [word.text for word in islice(split(text), MAX_TOKENS)]


def _bounded(tokens: list[str]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    room = MAX_BYTES
    for token in tokens:
        room -= len(token) if token.isascii() else len(token.encode())
        if room < 0:
            return
        counts[token] += 1
        yield token if counts[token] <= MAX_PLACES else BREAK


def parse_query(text: str) -> Query:
    """`word`, `"a phrase"`, `pre*` and `-without`; anything else is just text. InvalidInput if nothing is asked for."""
    if not isinstance(text, str):
        raise InvalidInput(f"a search is text, not {text!r:.80}")
    terms: dict[Term, None] = {}
    excluded: dict[Term, None] = {}
    asked = 0
    for minus, phrase, star, plain in _ASKED.findall(text):
        words = tuple(word.text for word in split(plain or phrase))
        asked += len(words)
        if asked > MAX_ASKED:
            raise InvalidInput(
                f"a search of more than {MAX_ASKED} words",
                hint="ask for fewer words; each Chinese, Japanese or Korean character is one",
            )
        if words:
            (excluded if minus else terms)[Term(words, bool(star) or plain.endswith("*"))] = None
    if not terms:
        raise InvalidInput(
            "the search asks for no word",
            hint='give at least one word that must be there: word, "a phrase" or pre*; -word only excludes',
        )
    return Query(tuple(terms), tuple(excluded))


def is_found(query: Query, texts: Sequence[str]) -> bool:
    """Whether what has these texts is what the query asks for; the engines' indexes say the same."""
    words = document(texts)

    def has(term: Term) -> bool:
        return any(term.at(words, index) for index in range(len(words)))

    return all(map(has, query.terms)) and not any(map(has, query.excluded))


def snippet(query: Query, texts: Sequence[str], size: int = 200) -> Snippet:
    """The text around the first of what was asked for, at most `size` characters."""
    for text in texts:
        spans = _spans(query, list(islice(split(text), MAX_TOKENS)))
        if spans:
            return _cut(text, spans, size)
    return Snippet(next((text for text in texts if text), "")[:size], ())


def _cut(text: str, spans: list[tuple[int, int]], size: int) -> Snippet:
    first = spans[0][0]
    start = max(0, min(first - size // 3, len(text) - size))
    if start:  # begin with a whole word, if there is one before the match
        space = re.compile(r"\s").search(text, start, first)
        start = space.end() if space else start
    inside = [(max(begin, start), min(end, start + size)) for begin, end in spans if begin < start + size]
    return Snippet(text[start : start + size], tuple((begin - start, end - start) for begin, end in inside))


def _spans(query: Query, found: list[Word]) -> list[tuple[int, int]]:
    """Where the terms are, in order, those that overlap as one."""
    words = [word for word, _, _ in found]
    spans = sorted(
        (found[index].start, found[index + len(term.words) - 1].end)
        for term in query.terms
        for index in range(len(words))
        if term.at(words, index)
    )
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _split_run(run: str, offset: int) -> Iterator[Word]:
    word, start, end, alone = "", 0, 0, False
    for at, cluster in _clusters(run):
        for char, kind in _fold(cluster):
            if word and (kind in "cs" or (kind == "w" and alone)):
                yield Word(word[:MAX_LENGTH], offset + start, offset + end)
                word = ""
            if kind == "s" or (kind == "m" and not word):
                continue
            if not word:
                start, alone = at, kind == "c"
            word += char if len(word) < MAX_LENGTH else ""
            end = at + len(cluster)
    if word:
        yield Word(word[:MAX_LENGTH], offset + start, offset + end)


def _clusters(run: str) -> Iterator[tuple[int, str]]:
    """The characters of a run, each with the marks that follow it."""
    at = 0
    while at < len(run):
        end = at + 1
        while end < len(run) and end - at < _CLUSTER and _joins(run[end]):
            end += 1
        yield at, run[at:end]
        at = end


@lru_cache(maxsize=65_536)
def _fold(cluster: str) -> tuple[tuple[str, str], ...]:
    """The folded characters, each with its kind: word, mark, CJK or separator."""
    folded = normalize("NFKD", normalize("NFKD", cluster).casefold())
    kept = "".join(char for char in folded if combining(char) not in _ACCENTS and char not in _INVISIBLE)
    return tuple((char, _kind(char)) for char in normalize("NFC", kept))


def _kind(char: str) -> str:
    if _CJK.match(char):
        return "c"
    if char.isalnum():
        return "w"
    return "m" if category(char)[0] == "M" else "s"


@lru_cache(maxsize=65_536)
def _joins(char: str) -> bool:
    return category(char)[0] == "M" or char in _INVISIBLE or char in _HALF_WIDTH_MARKS or "\u1160" <= char <= "\u11ff"
