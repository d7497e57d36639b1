"""What a user said, told apart by whether it states something: sentences that do, and all the others.

A summary keeps the first word for word for ever, and of the others as much as there is room for, what is the most
specific first. The net for the first is wide: a sentence too many costs a few tokens, a fact too few is lost for good.
Only a question that says nothing beside what it asks, a command and a courtesy state nothing. Of a text that was pasted
in, what the user says of themselves or asks to be kept in mind states something, and all else is specific or not.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.runtime.sentences import QUOTED, pieces, sentences

PASTED = 4_000
MAX_PIECE = 600

ASKS = (
    r"(?:what|who|whom|whose|which|where|when|why|how|is|are|am|was|were|do|does|did|can|could|will|would|should|shall|"
    r"may|have|has)\b"
)
BEFORE = r"\A\W*(?:and |but |so |please |hi |ok )*"
QUESTION = re.compile(rf"{BEFORE}{ASKS}", re.IGNORECASE)
OPEN_QUESTION = re.compile(rf"{BEFORE}(?:what|who|whom|whose|which|where|when|why|how)\b", re.IGNORECASE)
"""One that asks for what it does not say; any other says all of what it asks about."""
COMMAND = re.compile(
    r"\A\W*(?:please |now |then )*(?:tell|say|append|write|read|list|show|give|explain|describe|think|ask|find|create|"
    r"summari[sz]e|open|translate|count|repeat|continue)\b",
    re.IGNORECASE,
)
OWN = re.compile(
    r"\b(?:my|mine|our|ours|i['’]m|i am|i['’]ve|i have|i was|i live|i work|i like|i love|i hate|i prefer|i use|i need|"
    r"we are|we['’]re|we have|we use|call me|remember|memori[sz]e|note that|keep in mind|important|never|always)\b",
    re.IGNORECASE,
)
INDIRECT = re.compile(
    r"\b(?:know|aware|heard|mention|mentioned|forget|forgot|tell you|told you|say|said) that\s+\w|"
    r"\b(?:like|for|to|with) (?:me|us), \w|\blike (?:me|us)\b|[,(] ?(?:who|whose|which) ",
    re.IGNORECASE,
)
"""What tells of something on the way: "did you know that it rains", "for me, Ada", "for Tom, who hates fish"."""
BESIDE = re.compile(
    r"(?:[,;:–—(]\s*|\b(?=since |because ))(?:(?:and|but|so|as|since|because|though|although|while) )*"
    r"(?:i|we|he|she|they|it|there)(?:['’]\w+)? ",
    re.IGNORECASE,
)
"""Where a command goes on with a clause that has a subject of its own: "in euros, since we sell in Germany"."""
COURTESY = re.compile(
    r"thanks?|you|very|much|ok|okay|yes|no|yeah|please|hi|hello|hey|there|bye|goodbye|go|on|continue|sure|great|good|"
    r"nice|cool|fine|right|correct|sorry|well|done|perfect|wow|so|and|then|now|again|more",
    re.IGNORECASE,
)
WORDS = re.compile(r"[^\W_][\w'’-]*")
TOLD = re.compile(r"\b(?:is|are|was|were)\b", re.IGNORECASE)
ASKED = re.compile(r"\b(?:what|who|whom|which|where|when|why|how|whether|if|there)\b", re.IGNORECASE)
CLAUSES = re.compile(r"[,;–—]|\b(?:and|but)\b", re.IGNORECASE)
IN_QUOTES = re.compile(rf"{QUOTED}|[\"`][^\"`]+[\"`]|(?<!\w)['‘][^'’]+['’]")
ASIDE = re.compile(rf"[,;:–—()，；：]|\b(?:and|but|so)\s+(?={ASKS})", re.IGNORECASE)
"""What separates the clauses of a question."""
THING = re.compile(r"\bmy ([^\W_][\w'’ -]{0,60}?) (?:is|are|was)\b", re.IGNORECASE)
SPECIFICS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\d",
        r"(?<=[^\W\d_]\s)(?!I\b)[A-ZÀ-ÖØ-ÞА-Я]\w",  # a name
        rf"{QUOTED}|[\"`][^\"`]+[\"`]",
        r"\w[/@=:_]\w|[:=]\s*\S|\w\.\w",  # a path, an address, a value
    )
)


@dataclass(frozen=True, slots=True)
class UserSentences:
    """The sentences of a message, in order: those that state something, and the others."""

    stated: Sequence[str]
    others: Sequence[str]


def told_apart(text: str) -> UserSentences:
    """The sentences of a user's message, but for courtesies."""
    pasted = len(text) > PASTED
    found = [piece for line in sentences(text) for piece in (pieces(line, MAX_PIECE) if pasted else (line,))]
    stated = {piece for piece in found if _states(piece, pasted=pasted)}
    others = [part for piece in found if piece not in stated and _says(piece) for part in pieces(piece, MAX_PIECE)]
    return UserSentences([piece for piece in found if piece in stated], others)


def statements(text: str) -> list[str]:
    """The sentences of a user's message that state something, in order, each on one line."""
    return list(told_apart(text).stated)


def newest(stated: Iterable[str]) -> list[str]:
    """Each sentence once, where it was said last; one whose things were all stated anew is left out."""
    seen: set[str] = set()
    things: set[str] = set()
    kept: list[str] = []
    for sentence in reversed(list(stated)):
        said = {_folded(thing) for thing in THING.findall(sentence)}
        if _folded(sentence) not in seen and not (said <= things and _says_only(sentence, said)):
            kept.append(sentence)
        seen.add(_folded(sentence))
        if not COMMAND.match(sentence) and not QUESTION.match(sentence):  # "Say: my name is Bot" is not news of it
            things |= said
    return kept[::-1]


def most_specific(others: Iterable[str], room: int) -> list[str]:
    """Of some sentences, each once, the most specific that have so many characters together, of these the newest."""
    once: dict[str, str] = {}
    for sentence in others:
        once.pop(_folded(sentence), None)
        once[_folded(sentence)] = sentence
    kept: set[str] = set()
    ordered = sorted(enumerate(once.values()), key=lambda each: (_specifics(each[1]), each[0]), reverse=True)
    for _, sentence in ordered:
        room -= len(sentence)
        if room < 0:
            break
        kept.add(sentence)
    return [sentence for sentence in once.values() if sentence in kept]


def _specifics(sentence: str) -> int:
    """In how many ways a sentence names something that no other would: by a number, a name, a quotation, a value."""
    return sum(bool(kind.search(sentence)) for kind in SPECIFICS)


def _says_only(sentence: str, things: set[str]) -> bool:
    """Whether a sentence states these things and nothing beside them."""
    clauses = [clause for clause in CLAUSES.split(re.sub(QUOTED, "", sentence)) if len(clause.split()) > 2]
    return bool(things) and all(THING.search(clause) for clause in clauses)


def _states(sentence: str, *, pasted: bool) -> bool:
    if not _says(sentence):
        return False
    if _is_question(sentence):
        return _says_beside(sentence) if not pasted else bool(OWN.search(sentence))
    if OWN.search(sentence):
        return True
    if pasted:
        return False
    if COMMAND.match(sentence):  # "Create it; the port is 8443" states something, "tell me what it is" does not
        return _says_on_the_way(sentence) or (bool(TOLD.search(sentence)) and not ASKED.search(sentence))
    return True


def _says_on_the_way(command: str) -> bool:
    """Whether a command tells of something, outside of what it has in quotes."""
    words = IN_QUOTES.sub("", command)
    return bool(INDIRECT.search(words) or BESIDE.search(words))


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”») ").endswith(("?", "？"))


def _says_beside(question: str) -> bool:
    """Whether a question says something beside what it asks: in a clause of its own, or of the one who asks."""
    if INDIRECT.search(question):
        return True
    clauses = ASIDE.split(question)
    if len(clauses) > 1 and any(_says(clause) and not QUESTION.match(clause) for clause in clauses):
        return True
    return bool(OWN.search(question)) and (not OPEN_QUESTION.match(question) or bool(_specifics(question)))


def _says(words: str) -> bool:
    """Whether there is a word that is more than a courtesy."""
    return any(not COURTESY.fullmatch(word) for word in WORDS.findall(words))


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())
