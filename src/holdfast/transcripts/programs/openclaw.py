"""Sessions of OpenClaw: `agents/<agent>/agent/openclaw-agent.sqlite`, or in older versions the files of its sessions.

A row of `transcript_events` is a line: its JSON is the payload as it stands, its own id its name. The files are
`agents/<agent>/sessions/<session>.jsonl`; their `sessions.json` says which key routes to which session.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.core import NewEvent, strict_json
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.ids import session_id_for
from holdfast.transcripts.files.folder_walk import Names, names_in
from holdfast.transcripts.files.head_lines import first_objects, first_time
from holdfast.transcripts.files.json_lines import JsonLines, line_id, time_of, value_type
from holdfast.transcripts.files.line_file import UnreadableFile, open_plain
from holdfast.transcripts.programs.sqlite_copy import CopiedDatabase, is_sqlite, sqlite_copy
from holdfast.transcripts.source import RefusedTranscript, Transcript, TranscriptLine, UnreadableLine
from holdfast.transcripts.words import speaker_of, title_of, words_of

NAME = "openclaw"
AGENTS = "agents"
DATABASE = "openclaw-agent.sqlite"
CONFIGURATION = "openclaw.json"
INDEX = "sessions.json"
MOST_INDEX = 64 * 1024 * 1024

EVENTS = "SELECT seq, event_json, created_at FROM transcript_events WHERE session_id = ?1 ORDER BY seq"
SESSIONS = """
    SELECT session_id, min(created_at) AS began, max(created_at) AS ended FROM transcript_events
    GROUP BY session_id ORDER BY began, session_id"""
WINDOW = "SELECT * FROM session_windows WHERE session_id = ?1"


class _Agent(NamedTuple):
    """An agent's folder."""

    name: str
    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "agent" / DATABASE

    @property
    def sessions(self) -> Path:
        return self.folder / "sessions"


class OpenClaw:
    """The source of OpenClaw's sessions; a folder is its state folder."""

    name = NAME
    looks_like = "openclaw.json and agents/<agent>/"

    def recognises(self, folder: Path) -> bool:
        """Whether this is OpenClaw's folder: with its configuration, or a database of one of its agents."""
        agents = _agents(folder)
        return bool(agents) and (
            (folder / CONFIGURATION).is_file() or any(is_sqlite(agent.database) for agent in agents)
        )

    def transcripts(self, folder: Path) -> Iterator[Transcript | RefusedTranscript]:
        """Every session of every agent: those of its database, then those that only its files have.

        A database or a folder that cannot be read is refused by its name.
        """
        for agent in _agents(folder):
            there: set[str] = set()
            try:
                found = _in_database(agent) if is_sqlite(agent.database) else []
            except InvalidInput as error:
                yield RefusedTranscript(agent.name, str(agent.database), error.code, error.message)
            else:
                there = {each.session_id for each in found}
                yield from found
            keys = _keys(agent.sessions / INDEX)
            for path in _files(agent, names_in):
                if session_id_for(path.stem) not in there:
                    yield _of_file(agent, path, keys)

    def lines(self, transcript: Transcript) -> Iterator[TranscriptLine | UnreadableLine]:
        """The session's lines in their order."""
        path = transcript.files[0]
        if path.suffix == ".jsonl":
            yield from self.reader(path).lines()
            return
        with sqlite_copy(path) as database:
            for row in database.rows(EVENTS, transcript.metadata["session"]):
                yield _line(path, row)

    def paths(self, folder: Path, names: Names = names_in) -> Iterator[Path]:
        """The file of every session that has one."""
        for agent in _agents(folder, names):
            yield from _files(agent, names)

    def reader(self, path: Path) -> JsonLines:
        """The lines of a session's file, as they come."""
        return JsonLines(path, _id, _parent)

    def transcript(self, path: Path) -> Transcript:
        """What the session of this file is, as far as its first lines say."""
        return _of_file(_Agent(path.parents[1].name, path.parents[1]), path, _keys(path.parent / INDEX))


def _agents(folder: Path, names: Names = names_in) -> list[_Agent]:
    inside = folder / AGENTS
    return [_Agent(name, inside / name) for name in names(inside) if (inside / name).is_dir()]


def _files(agent: _Agent, names: Names) -> list[Path]:
    """The files of an agent's sessions; their folder if it may not be read, so that it is refused by its name."""
    try:
        return [agent.sessions / name for name in names(agent.sessions) if name.endswith(".jsonl")]
    except UnreadableFile:
        return [agent.sessions]


def _in_database(agent: _Agent) -> list[Transcript]:
    with sqlite_copy(agent.database) as database:
        return [_of_row(agent, database, row) for row in database.rows(SESSIONS)]


def _of_row(agent: _Agent, database: CopiedDatabase, row: Mapping[str, Any]) -> Transcript:
    about = next(database.rows(WINDOW, row["session_id"]), {}) if database.columns("session_windows") else {}
    noted = {"model": about.get("model"), "channel": about.get("channel"), "title": about.get("display_name")}
    key = about.get("session_key")
    return Transcript(
        session_id_for(str(row["session_id"])),
        (agent.database,),
        key=key if isinstance(key, str) and key else None,
        agent=agent.name,
        created_at=time_of(row["began"]),
        updated_at=time_of(row["ended"]),
        metadata={"session": row["session_id"], **{k: v for k, v in noted.items() if v}},
        tags=(NAME,),
    )


def _of_file(agent: _Agent, path: Path, keys: Mapping[str, str]) -> Transcript:
    lines = first_objects(path)
    asked = (words_of(line) for line in lines if speaker_of(line) == "user")
    title = next((title_of(words) for words in asked if words), None)
    cwd = next((line["cwd"] for line in lines if isinstance(line.get("cwd"), str)), None)
    noted = {"title": title, "cwd": cwd}
    return Transcript(
        session_id_for(path.stem),
        (path,),
        key=keys.get(path.stem),
        agent=agent.name,
        created_at=first_time(path, lines),
        metadata={name: said for name, said in noted.items() if said},
        tags=(NAME,),
    )


def _line(path: Path, row: Mapping[str, Any]) -> TranscriptLine | UnreadableLine:
    number, text = row["seq"], row["event_json"]
    if not isinstance(number, int):
        return UnreadableLine(path, 0, "a row without a place in its session")
    if not isinstance(text, str):
        return UnreadableLine(path, number, "kept by OpenClaw in a form that cannot be read here")
    raw = text.encode()
    try:
        value = strict_json.parse(raw)
    except InvalidInput as error:
        return UnreadableLine(path, number, error.message)
    found = value if isinstance(value, dict) else {}
    name, parent = _id(found), _parent(found)
    event = NewEvent(
        value_type(value),
        strict_json.CheckedJson(raw),
        line_id(name if isinstance(name, str) and name else f"@{number}"),
        parent_id=line_id(parent) if isinstance(parent, str) and parent else None,
        created_at=time_of(row["created_at"]),
    )
    return TranscriptLine(path, number, event)


def _keys(path: Path) -> dict[str, str]:
    """Which key routes to which session; none if there is no such file, or it cannot be read."""
    try:
        with open_plain(path) as file:
            found = json.loads(file.read(MOST_INDEX))
    except (HoldfastError, OSError, ValueError, RecursionError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {
        entry["sessionId"]: key
        for key, entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str)
    }


def _id(line: Mapping[str, Any]) -> str | None:
    return line.get("id")


def _parent(line: Mapping[str, Any]) -> str | None:
    return line.get("parentId")
