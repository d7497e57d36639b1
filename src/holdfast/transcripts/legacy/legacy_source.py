"""The older layout as a source of transcripts.

The ids of sessions are the names of their files. Where two agents have a file of the same name, the later agent's
session is named after the agent as well, so that two sessions never become one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.transcripts.files.json_lines import JsonLines
from holdfast.transcripts.legacy.layout import (
    ENTRY_INVALID,
    STORE_UNREADABLE,
    LegacyAgent,
    LegacyEntry,
    LegacyIssue,
    agents_in,
    is_legacy,
)
from holdfast.transcripts.source import RefusedTranscript, Transcript, TranscriptLine, UnreadableLine

NAME = "legacy"
REFUSED = (STORE_UNREADABLE, ENTRY_INVALID)
"""Issues that stand for sessions which cannot be imported."""


OtherIds = Mapping[tuple[str, str], str]
"""The ids of sessions that are not named after their files, by agent and file."""


class LegacySurvey(NamedTuple):
    """What lies in a folder, as far as it is told without a look at every session."""

    hot: list[Transcript | RefusedTranscript]
    """The sessions that keys route to, and the entries that cannot be used."""
    unreferenced: int
    """How many sessions have no key."""


class LegacySource:
    """The source of sessions in the older layout: all, or the hot ones only, or one agent's, or those of some ids."""

    name = NAME
    looks_like = "agents/<agent>/sessions/sessions.json and <session>.jsonl"

    def __init__(self, *, hot_only: bool = False, agent: str | None = None, only: frozenset[str] | None = None) -> None:
        self._hot_only = hot_only
        self._agent = agent
        self._only = only

    def recognises(self, folder: Path) -> bool:
        """Whether the folder has agents with sessions."""
        return is_legacy(folder)

    def transcripts(self, folder: Path) -> Iterator[Transcript | RefusedTranscript]:
        """The hot sessions of every agent, then the others."""
        for each in self._found(folder):
            if self._only is None or each.session_id in self._only:
                yield each

    def _found(self, folder: Path) -> Iterator[Transcript | RefusedTranscript]:
        agents = list(agents_in(folder))
        names = _other_ids(agents)
        chosen = [each for each in agents if self._agent in (None, each.name)]
        for agent in chosen:
            yield from _hot_of(agent, names)
        if not self._hot_only:
            for agent in chosen:
                yield from (_transcript(names, agent, entry) for entry in agent.unreferenced())

    def survey(self, folder: Path) -> LegacySurvey:
        """What an import of the hot sessions would find, and how many others there are: none of those is looked at."""
        agents = list(agents_in(folder))
        names = _other_ids(agents)
        chosen = [each for each in agents if self._agent in (None, each.name)]
        hot = [each for agent in chosen for each in _hot_of(agent, names)]
        return LegacySurvey(hot, sum(len(agent.cold) for agent in chosen))

    def lines(self, transcript: Transcript) -> Iterator[TranscriptLine | UnreadableLine]:
        """The session's lines in their order, its header first."""
        return lines_of(transcript.files[0])


def lines_of(file: Path) -> Iterator[TranscriptLine | UnreadableLine]:
    """The lines of a session's file, its header first; a HoldfastError if the file cannot be read."""
    return JsonLines(file, _id, _parent).lines()


def _hot_of(agent: LegacyAgent, names: OtherIds) -> Iterator[Transcript | RefusedTranscript]:
    yield from (_transcript(names, agent, entry) for entry in agent.hot)
    yield from map(_refused, (issue for issue in agent.faults if issue.code in REFUSED))


def _other_ids(agents: list[LegacyAgent]) -> OtherIds:
    """The ids of the sessions that cannot have their file's name, because an agent before has one of that name."""
    others: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for agent in agents:
        ids = [*(entry.session_id for entry in agent.hot), *agent.cold]
        if taken.isdisjoint(ids):
            taken.update(ids)
            continue
        for session_id in ids:
            name = session_id
            if session_id in taken:
                others[agent.name, session_id] = name = f"{agent.name}:{session_id}"
            taken.add(name)
    return others


def _transcript(names: OtherIds, agent: LegacyAgent, entry: LegacyEntry) -> Transcript:
    about = {name: value for name, value in entry.document.items() if name not in {"sessionId", "updatedAt"}}
    return Transcript(
        names.get((agent.name, entry.session_id), entry.session_id),
        (entry.file, agent.index) if entry.hot else (entry.file,),
        key=entry.keys[0] if entry.keys else None,
        other_keys=entry.keys[1:],
        agent=entry.agent,
        updated_at=entry.updated_at,
        metadata={"entry": about} if about else {},
        tags=(NAME,),
    )


def _refused(issue: LegacyIssue) -> RefusedTranscript:
    assert issue.file is not None
    return RefusedTranscript(issue.session_key or issue.file.name, str(issue.file), issue.code, issue.message)


def _id(line: Mapping[str, Any]) -> str | None:
    return line.get("id") if line.get("type") != "session" else None


def _parent(line: Mapping[str, Any]) -> str | None:
    return line.get("parentId")
