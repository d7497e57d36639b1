"""The newest answers of a simulator, each with the rule and the messages that it came from."""

from collections import deque
from dataclasses import asdict
from typing import Any

from holdfast.models.messages import Message
from holdfast.models.simulator.answer import Answer

LENGTH = 1000
MAX_TEXT = 500


class AnswerLog:
    """Keeps the last 1,000 answers, numbered from 1, long texts cut."""

    def __init__(self) -> None:
        self._entries: deque[dict[str, Any]] = deque(maxlen=LENGTH)
        self._answered = 0

    def add(self, at: int, messages: list[Message], given: Answer) -> None:
        """Remember an answer given at a time in milliseconds."""
        self._answered += 1
        sources = [asdict(source) for source in given.provenance.sources]
        self._entries.append(
            {
                "number": self._answered,
                "at": at,
                "messages": len(messages),
                "rule": given.provenance.rule,
                "sources": [source | {"words": source["words"][:MAX_TEXT]} for source in sources],
                "content": given.response.content[:MAX_TEXT],
                "tool_calls": [call.name for call in given.response.tool_calls],
                "delay": given.delay,
            }
        )

    def document(self) -> dict[str, Any]:
        """How many answers were given, and the newest of them, oldest first."""
        return {"answered": self._answered, "answers": list(self._entries)}
