"""The newest requests to a simulator: what each was answered, by which rule, and from which messages."""

from collections import deque
from dataclasses import asdict
from typing import Any

from holdfast.models.simulator.answer import SimulatorAnswer
from holdfast.models.simulator.wire.api import ModelRequest

LENGTH = 1000
MAX_TEXT = 500


class AnswerLog:
    """Keeps the last 1,000 requests, numbered from 1, long texts cut."""

    def __init__(self) -> None:
        self._entries: deque[dict[str, Any]] = deque(maxlen=LENGTH)
        self._asked = 0
        self._answered = 0

    def add(self, at: int, api: str, asked: ModelRequest, given: SimulatorAnswer | None, fault: str | None) -> None:
        """Remember a request at a time in milliseconds: its answer, or that it got none, and the fault it met."""
        self._asked += 1
        self._answered += given is not None
        self._entries.append(
            {
                "number": self._asked,
                "at": at,
                "api": api,
                "stream": asked.stream,
                "messages": len(asked.messages),
                "fault": fault,
                **(_answer(given) if given else _no_answer()),
            }
        )

    def document(self) -> dict[str, Any]:
        """How many requests were answered, and the newest of all, oldest first."""
        return {"answered": self._answered, "answers": list(self._entries)}


def _answer(given: SimulatorAnswer) -> dict[str, Any]:
    sources = [asdict(source) for source in given.provenance.sources]
    return {
        "rule": given.provenance.rule,
        "sources": [source | {"words": source["words"][:MAX_TEXT]} for source in sources],
        "content": given.response.content[:MAX_TEXT],
        "tool_calls": [call.name for call in given.response.tool_calls],
        "delay": given.delay,
    }


def _no_answer() -> dict[str, Any]:
    return {"rule": None, "sources": [], "content": "", "tool_calls": [], "delay": 0.0}
