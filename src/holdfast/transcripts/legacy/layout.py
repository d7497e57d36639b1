"""What lies where in the older layout: the folders of agents, their index of keys, and the files of sessions."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.ids import check_name, check_session_id
from holdfast.transcripts.files.folder_walk import names_in, refuse_links
from holdfast.transcripts.files.json_lines import time_of
from holdfast.transcripts.files.line_file import open_plain

AGENTS = "agents"
SESSIONS = "sessions"
INDEX = "sessions.json"
LINES = ".jsonl"
MOST_INDEX = 256 * 1024 * 1024

ENTRY_INVALID = "entry_invalid"
TRANSCRIPT_MISSING = "transcript_missing"
TRANSCRIPT_MALFORMED = "transcript_malformed"
UNREFERENCED = "unreferenced_jsonl"
STORE_UNREADABLE = "store_unreadable"


@dataclass(frozen=True, slots=True)
class LegacyIssue:
    """Something that is not as it should be; `code` is one of the constants above."""

    code: str
    message: str
    session_key: str | None = None
    file: Path | None = None
    line: int | None = None

    @property
    def lost(self) -> bool:
        """Whether it is that a session's file is not there."""
        return self.code == TRANSCRIPT_MISSING


@dataclass(frozen=True, slots=True)
class LegacyEntry:
    """A session of an agent: hot if there is a key that routes to it."""

    agent: str
    session_id: str
    file: Path
    keys: tuple[str, ...] = ()
    document: dict[str, Any] = field(default_factory=dict)
    """What the index says of it, under its first key."""

    @property
    def hot(self) -> bool:
        """Whether the index names it."""
        return bool(self.keys)

    @property
    def updated_at(self) -> int | None:
        """When the index says that it changed last."""
        return time_of(self.document.get("updatedAt"))


@dataclass(slots=True)
class LegacyAgent:
    """An agent's folder of sessions, as its index and the names in it tell; no session's file is opened for this."""

    name: str
    folder: Path
    entries: int = 0
    """How many keys its index has."""
    hot: list[LegacyEntry] = field(default_factory=list)
    cold: list[str] = field(default_factory=list)
    """The ids of the sessions that no key routes to: only names, because there may be very many."""
    faults: list[LegacyIssue] = field(default_factory=list)
    """What is wrong with the index and with what it names."""

    @property
    def index(self) -> Path:
        """The file that says which key routes to which session."""
        return self.folder / INDEX

    def unreferenced(self) -> Iterator[LegacyEntry]:
        """The sessions that no key routes to."""
        return (LegacyEntry(self.name, each, self.folder / f"{each}{LINES}") for each in self.cold)

    def issues(self) -> Iterator[LegacyIssue]:
        """What is wrong, and each session that no key routes to."""
        yield from self.faults
        for entry in self.unreferenced():
            yield LegacyIssue(UNREFERENCED, f"no key routes to {entry.file.name}", file=entry.file)


def is_legacy(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return any(_read_folder(each) is not None for each in _agent_folders(folder))


def agents_in(folder: Path, *, agent: str | None = None) -> Iterator[LegacyAgent]:
    """Every agent of a folder, or the one of this name, in the order of names.

    If it cannot be told which there are, that is an issue of one that has no name.
    """
    try:
        found = _agent_folders(folder)
    except HoldfastError as error:
        issue = LegacyIssue(STORE_UNREADABLE, error.message, file=folder / AGENTS)
        yield LegacyAgent("", folder / AGENTS, faults=[issue])
        return
    for path in found:
        if agent is None or path.name == agent:
            names = _read_folder(path)
            if names is not None:
                yield _read_agent(folder, path, names)


def _agent_folders(folder: Path) -> list[Path]:
    return [folder / AGENTS / name for name in names_in(folder / AGENTS)]


def _read_folder(agent: Path) -> list[str] | HoldfastError | None:
    """The names in an agent's folder of sessions, or why it cannot be read; None if there is nothing of ours."""
    try:
        names = names_in(agent / SESSIONS)
    except HoldfastError as error:
        return error
    return names if any(name == INDEX or name.endswith(LINES) for name in names) else None


def _read_agent(folder: Path, path: Path, names: list[str] | HoldfastError) -> LegacyAgent:
    found = LegacyAgent(path.name, path / SESSIONS)
    there: list[str] = []
    named: dict[str, LegacyEntry] = {}
    try:
        refuse_links(folder, found.index)
        check_name(path.name, "an agent's name")
        if isinstance(names, HoldfastError):
            raise names
        there = [name.removesuffix(LINES) for name in names if name.endswith(LINES)]
        named = _hot(found) if INDEX in names else {}
    except HoldfastError as error:
        message = error.message if str(path) in error.message else f"{found.index}: {error.message}"
        found.faults.append(LegacyIssue(STORE_UNREADABLE, message, file=found.index))
    found.cold = [session_id for session_id in there if session_id not in named]
    found.hot = list(named.values())
    files = set(there)
    for entry in found.hot:
        if entry.session_id not in files:
            message = f"there is no {entry.file.name} for key {entry.keys[0]!r}"
            found.faults.append(LegacyIssue(TRANSCRIPT_MISSING, message, entry.keys[0], entry.file))
    return found


def _hot(agent: LegacyAgent) -> dict[str, LegacyEntry]:
    """The sessions that the index names, by their ids; InvalidInput if it cannot be read as a whole."""
    named: dict[str, LegacyEntry] = {}
    with open_plain(agent.index) as file:
        raw = file.read(MOST_INDEX + 1)
    if len(raw) > MOST_INDEX:
        raise InvalidInput(f"{agent.index} has more than {MOST_INDEX} bytes")
    index = strict_json.parse(raw)
    if not isinstance(index, dict):
        raise InvalidInput(f"{agent.index} is not a JSON object")
    agent.entries = len(index)
    for key, document in index.items():
        try:
            check_name(key, "a session key")
            if not isinstance(document, dict):
                raise InvalidInput("it is not a JSON object")
            session_id = check_session_id(document.get("sessionId", ""))
        except InvalidInput as error:
            message = f"the entry of key {key!r:.80} cannot be used: {error.message}"
            agent.faults.append(LegacyIssue(ENTRY_INVALID, message, key, agent.index))
            continue
        before = named.get(session_id)
        keys = (*before.keys, key) if before else (key,)
        about = before.document if before else document
        named[session_id] = LegacyEntry(agent.name, session_id, agent.folder / f"{session_id}{LINES}", keys, about)
    return named
