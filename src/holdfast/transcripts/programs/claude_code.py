"""Sessions of Claude Code: `projects/<folder>/<session>.jsonl`, one JSON object per line.

What a sub-agent did is in `<session>/subagents/agent-<id>.jsonl`, in older versions in `agent-<id>.jsonl` beside the
sessions: a session of its own whose parent is the one that asked for it. A resumed session goes on in its file; a
compacted one goes on behind a line that says so; a fork is a file of its own with copies of the lines before it. Lines
of a type that we do not know are kept like all others.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.core.ids import session_id_for
from holdfast.transcripts.files.folder_walk import Names, names_in
from holdfast.transcripts.files.head_lines import first_objects, first_time
from holdfast.transcripts.files.json_lines import JsonLines
from holdfast.transcripts.files.line_file import UnreadableFile
from holdfast.transcripts.source import Transcript, TranscriptLine, UnreadableLine
from holdfast.transcripts.words import title_of, words_of

NAME = "claude-code"
PROJECTS = "projects"
SUBAGENTS = "subagents"
AGENT = "agent-"
LINES = ".jsonl"
ABOUT = ".meta.json"
"""What Claude Code says of a sub-agent, beside its lines."""
SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl\Z")
NOTED = ("cwd", "gitBranch", "version", "slug")
TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
"""The lines that say what a session is called, and the member that says it."""


class ClaudeCode:
    """The source of Claude Code's sessions; a folder is its configuration folder, its projects, or one of them."""

    name = NAME
    looks_like = "projects/<folder>/<session>.jsonl"

    def recognises(self, folder: Path) -> bool:
        """Whether this folder has transcripts of Claude Code."""
        return any(SESSION.match(path.name) or _is_agent(path.name) for path in self.paths(folder))

    def transcripts(self, folder: Path) -> Iterator[Transcript]:
        """Every session in it, parents before their children."""
        return map(self.transcript, self.paths(folder))

    def lines(self, transcript: Transcript) -> Iterator[TranscriptLine | UnreadableLine]:
        """The session's lines in their order."""
        return self.reader(transcript.files[0]).lines()

    def paths(self, folder: Path, names: Names = names_in) -> Iterator[Path]:
        """The file of every session, those of sub-agents behind the one that asked for them.

        A folder that may not be read is among them, so that it is refused by its name.
        """
        try:
            projects = _projects(folder, names)
        except UnreadableFile:
            yield folder / PROJECTS
            return
        for project in projects:
            yield from _files(project, names)

    def reader(self, path: Path) -> JsonLines:
        """The lines of a session's file, as they come."""
        return JsonLines(path, _uuid, _parent)

    def transcript(self, path: Path) -> Transcript:
        """What the session of this file is, as far as its first lines say."""
        found = first_objects(path)
        parent = _asked_by(path, found)
        session_id = session_id_for(path.stem if parent is None else f"{parent}.{path.stem}")
        metadata = {
            **_first(found, NOTED),
            **_model(found),
            **_title(found),
        }
        about = [] if parent is None else first_objects(path.with_suffix(ABOUT))
        return Transcript(
            session_id,
            (path,),
            parent_session=parent,
            created_at=first_time(path, found),
            metadata=metadata | _first(about, ("agentType", "description")),
            tags=(NAME,),
        )


def _projects(folder: Path, names: Names) -> list[Path]:
    """The project folders below a folder that may be one of them itself, or hold them, or hold what holds them."""
    if any(SESSION.match(name) for name in names(folder)):
        return [folder]
    inside = folder / PROJECTS if (folder / PROJECTS).is_dir() else folder
    return [inside / name for name in names(inside) if (inside / name).is_dir()]


def _files(project: Path, names: Names) -> Iterator[Path]:
    try:
        found = names(project)
    except UnreadableFile:
        yield project
        return
    there = set(found)
    for name in (name for name in found if name.endswith(LINES) and not _is_agent(name)):
        yield project / name
        session = name.removesuffix(LINES)
        if session in there:
            agents = project / session / SUBAGENTS
            try:
                yield from [agents / each for each in names(agents) if _is_agent(each)]
            except UnreadableFile:
                yield agents
    yield from (project / name for name in found if _is_agent(name))


def _is_agent(name: str) -> bool:
    return name.startswith(AGENT) and name.endswith(LINES)


def _asked_by(path: Path, lines: list[dict[str, Any]]) -> str | None:
    """The session that asked for this sub-agent; None if this is none."""
    if not path.name.startswith(AGENT):
        return None
    if path.parent.name == SUBAGENTS:
        return session_id_for(path.parents[1].name)
    said = next((line["sessionId"] for line in lines if isinstance(line.get("sessionId"), str)), None)
    return None if said is None else session_id_for(said)


def _uuid(line: Mapping[str, Any]) -> str | None:
    return line.get("uuid")


def _parent(line: Mapping[str, Any]) -> str | None:
    return line.get("parentUuid")


def _first(lines: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """The first text that the lines have under each of these names."""
    found = {}
    for name in names:
        said = next((line[name] for line in lines if isinstance(line.get(name), str) and line[name]), None)
        if said is not None:
            found[name] = said
    return found


def _model(lines: list[dict[str, Any]]) -> dict[str, Any]:
    messages = (line.get("message") for line in lines if line.get("type") == "assistant")
    return _first([message for message in messages if isinstance(message, dict)], ("model",))


def _title(lines: list[dict[str, Any]]) -> dict[str, str]:
    for line in reversed(lines):
        member = TITLES.get(str(line.get("type")))
        if member and isinstance(line.get(member), str) and line[member].strip():
            return {"title": title_of(line[member])}
    asked = (words_of(line) for line in lines if line.get("type") == "user" and not _is_own(line))
    return next(({"title": title_of(words)} for words in asked if words and not words.startswith("<")), {})


def _is_own(line: Mapping[str, Any]) -> bool:
    """Whether Claude Code says this, in the user's place."""
    return bool(line.get("isMeta") or line.get("isCompactSummary"))
