"""A look at the older layout that changes nothing: what is there, how much of it, and what is wrong with it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.transcripts.kept_lines import LineNote, LineNotes, kept_lines
from holdfast.transcripts.legacy.layout import (
    TRANSCRIPT_MALFORMED,
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
    archived: bool = False
    """Whether its file has been moved to an archive; the index that names it is still in its place."""

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


def inspect(folder: Path, *, agent: str | None = None, archives: Sequence[Path] = ()) -> Inspection:
    """Read all of the older layout under a folder, or one agent's part of it, without changing anything.

    Every file is opened for reading only. An import of what stands there makes sessions of these ids, with so many
    events each and one more that describes it. `archives` are folders with the same layout to which files have been
    moved: one that an index names and that is there is not missing. It blocks.
    """
    source = LegacySource(agent=agent)
    transcripts = [each for each in source.transcripts(folder) if isinstance(each, Transcript)]
    return Inspection(
        folder, tuple(_target(source, each, transcripts, folder, archives) for each in agents_in(folder, agent=agent))
    )


def _target(
    source: LegacySource,
    agent: LegacyAgent,
    transcripts: Iterable[Transcript],
    folder: Path,
    archives: Sequence[Path],
) -> LegacyTarget:
    issues = list(agent.issues())
    missing = {issue.file for issue in issues if issue.lost}
    sessions: list[LegacySession] = []
    for each in transcripts:
        if each.agent != agent.name:
            continue
        place = each.files[0]
        file = _moved(place, folder, archives) if place in missing else place
        if file is None:
            continue
        if file is not place:
            issues = [issue for issue in issues if not (issue.lost and issue.file == place)]
        notes, found = LineNotes(), replace(each, files=(file, *each.files[1:]))
        try:
            events = sum(1 for _ in kept_lines(source, found, notes))
        except HoldfastError as error:
            issues.append(LegacyIssue(TRANSCRIPT_MALFORMED, error.message, each.key, file))
            continue
        keys = () if each.key is None else (each.key, *each.other_keys)
        sessions.append(
            LegacySession(each.session_id, agent.name, keys, file, events, each.updated_at, archived=file is not place)
        )
        issues += [
            LegacyIssue(TRANSCRIPT_MALFORMED, _told(note), each.key, note.file, note.line) for note in notes.first
        ]
    return LegacyTarget(agent.name, agent.index, agent.entries, tuple(sessions), tuple(issues))


def _told(note: LineNote) -> str:
    return f"{note.file.name} line {note.line}: {note.message}"


def _moved(file: Path, folder: Path, archives: Sequence[Path]) -> Path | None:
    """Where a file of this folder has been moved; None if no archive has it."""
    name = file.relative_to(folder)
    return next((archive / name for archive in archives if (archive / name).is_file()), None)
