"""What a user stated: the sentences of their messages that say how something is.

A summary keeps them word for word. The net is wide: a sentence too many costs a few tokens, a fact too few is lost for
good. Of a text that was pasted in, only what the user says of themselves or asks to be kept in mind counts.
"""

import re
from collections.abc import Iterable

MAX_SENTENCE = 600
PASTED = 4_000

SENTENCE = re.compile(r"(?<=[.!?])[\"'”)]*\s+|\n+")
QUESTION = re.compile(
    r"\A\W*(?:and |but |so |please |hi |ok )*(?:what|who|whom|whose|which|where|when|why|how|is|are|am|was|were|do|"
    r"does|did|can|could|will|would|should|shall|may|have|has)\b[^.!]*\?",
    re.IGNORECASE,
)
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
DECLARED = re.compile(
    r"\b(?:i|we|is|are|was|were|has|have|had|means|costs?|lives?|works?|called|named|must|should|born|because)\b|[=:]|\d",
    re.IGNORECASE,
)
THING = re.compile(r"\bmy ([^\W_][\w'’ -]{0,60}?) (?:is|are|was)\b", re.IGNORECASE)


def statements(text: str) -> list[str]:
    """The sentences of a user's message that state something, in order."""
    sentences = (sentence.strip() for sentence in SENTENCE.split(text))
    return [_cut(sentence) for sentence in sentences if _states(sentence, pasted=len(text) > PASTED)]


def newest(sentences: Iterable[str]) -> list[str]:
    """Each sentence once, where it was said last; one whose things were all stated anew is left out."""
    seen: set[str] = set()
    things: set[str] = set()
    kept: list[str] = []
    for sentence in reversed(list(sentences)):
        said = {_folded(thing) for thing in THING.findall(sentence)}
        if _folded(sentence) not in seen and not (said and said <= things):
            kept.append(sentence)
        seen.add(_folded(sentence))
        if not COMMAND.match(sentence):  # "Say: my name is Bot" is not news of the name
            things |= said
    return kept[::-1]


def _states(sentence: str, *, pasted: bool) -> bool:
    if not sentence or QUESTION.match(sentence):
        return False
    return bool(OWN.search(sentence) or (not pasted and DECLARED.search(sentence) and not COMMAND.match(sentence)))


def _cut(sentence: str) -> str:
    if len(sentence) <= MAX_SENTENCE:
        return sentence
    return sentence[:MAX_SENTENCE].rsplit(maxsplit=1)[0] + " …"


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())
