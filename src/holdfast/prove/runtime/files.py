"""The file that proofs send, and what shows that a target has looked at it."""

import re

from holdfast.prove.runtime.facts import Facts
from holdfast.prove.wire.envelopes import FileSent

SENTENCE = re.compile(r"[^.?!\n]+\??")
ASKS = re.compile(
    r"\b(?:what|how|which|should I|shall I|can I|do you want|would you like|is there)\b",
    re.IGNORECASE,
)
KIND = r"(?:files?|attachments?|documents?)"
WITH_IT = re.compile(
    r"\b(?:with|about|of|from|read|open|use|keep|save|store|review|process|translate|analy[sz]e|summari[sz]e)"
    r" (?:it|this|that|them|these)\b",
    re.IGNORECASE,
)
GOT_ONE = re.compile(
    rf"\b(?:the|your|this|that)(?: [\w-]+){{0,2}} {KIND}\b"
    rf"|\b(?:sent|shared|attached|uploaded|received|got|provided)\b[^.?!\n]{{0,40}}\b{KIND}\b",
    re.IGNORECASE,
)


def note(facts: Facts) -> FileSent:
    """A small text file with a code word in it."""
    return FileSent(facts.file_name, "text/plain", data=facts.file_text.encode())


def asks_back(text: str) -> bool:
    """Whether an answer asks what to do with what was sent. One that only offers its help has not seen any file."""
    sentences = SENTENCE.findall(text)
    questions = [sentence for sentence in sentences if sentence.endswith("?") and ASKS.search(sentence)]
    return any(WITH_IT.search(question) for question in questions) or bool(questions and GOT_ONE.search(text))
