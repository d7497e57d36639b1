"""A look at the older layout that changes nothing: what is there, how much of it, and what is wrong with it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.transcripts.kept_lines import LINE_REFUSED, LINE_UNREADABLE, LineNotes, kept_lines
from holdfast.transcripts.legacy.layout import (
    TRANSCRIPT_MALFORMED,
    TRANSCRIPT_MISSING,
    LegacyAgent,
    LegacyIssue,
    agents_in,
)
from holdfast.transcripts.legacy.legacy_source import LegacySource
from holdfast.transcripts.source import Transcript


@dataclass(frozen=True, slots=True)
class LegacySession:
    """A session, and how many events an import makes of its file."""

    session_id: str
    agent: str
    keys: tuple[str, ...]
    file: Path
    events: int
    updated_at: int | None

    @property
    def hot(self) -> bool:
        """Whether a key routes to it."""
        return bool(self.keys)


@dataclass(frozen=True, slots=True)
class LegacyTarget:
    """The sessions of one agent."""

    agent: str
    index: Path
    entries: int
    """How many keys its index has, those that cannot be used as well."""
    sessions: tuple[LegacySession, ...]
    """The hot ones first; those without a file, or with one that cannot be read, are not among them."""
    issues: tuple[LegacyIssue, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """All of it."""

    folder: Path
    targets: tuple[LegacyTarget, ...] = field(default=())

    @property
    def issues(self) -> list[LegacyIssue]:
        """What is wrong, of all agents."""
        return [issue for target in self.targets for issue in target.issues]

    @property
    def sessions(self) -> list[LegacySession]:
        """The sessions of all agents."""
        return [session for target in self.targets for session in target.sessions]


def inspect(folder: Path, *, agent: str | None = None) -> Inspection:
    """Read all of the older layout under a folder, or one agent's part of it, without changing anything.

    Every file is opened for reading only. An import of what stands there makes sessions of these ids, with so many
    events each and one more that describes it. It blocks.
    """
    source = LegacySource(agent=agent)
    transcripts = [each for each in source.transcripts(folder) if isinstance(each, Transcript)]
    return Inspection(folder, tuple(_target(source, each, transcripts) for each in agents_in(folder, agent=agent)))


def _target(source: LegacySource, agent: LegacyAgent, transcripts: Iterable[Transcript]) -> LegacyTarget:
    issues = list(agent.issues())
    missing = {issue.file for issue in issues if issue.code == TRANSCRIPT_MISSING}
    sessions: list[LegacySession] = []
    for each in transcripts:
        if each.agent == agent.name and each.files[0] not in missing:
            notes = LineNotes()
            try:
                events = sum(1 for _ in kept_lines(source, each, notes))
            except HoldfastError as error:
                issues.append(LegacyIssue(TRANSCRIPT_MALFORMED, error.message, each.key, each.files[0]))
                continue
            keys = () if each.key is None else (each.key, *each.other_keys)
            sessions.append(LegacySession(each.session_id, agent.name, keys, each.files[0], events, each.updated_at))
            issues += [
                LegacyIssue(TRANSCRIPT_MALFORMED, note.message, each.key, note.file, note.line)
                for note in notes.first
                if note.code in (LINE_UNREADABLE, LINE_REFUSED)
            ]
    return LegacyTarget(agent.name, agent.index, agent.entries, tuple(sessions), tuple(issues))
