"""Sessions of Codex: rollout files, `sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`, and those put in its archive.

The first line, `session_meta`, says which session it is; the others have a time, a type and a payload, and no names of
their own, so a line is known by its place. A session that was forked or asked for by another names it there.
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
from holdfast.transcripts.words import speaker_of, title_of, words_of

NAME = "codex"
SESSIONS = "sessions"
ARCHIVED = "archived_sessions"
ROLLOUT = re.compile(r"rollout-(?P<time>[0-9T:-]{19})-(?P<session>[0-9a-f-]{36})\.jsonl\Z")
DATED = re.compile(r"[0-9]{1,4}\Z")
NOTED = {"cwd": "cwd", "cli_version": "version", "originator": "originator", "model_provider": "modelProvider"}
PARENTS = ("forked_from_id", "parent_thread_id")
PREAMBLE = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<permissions")
"""How the texts begin that Codex itself puts before what the user says."""


class Codex:
    """The source of Codex's sessions; a folder is its home, its sessions, or one of their folders."""

    name = NAME
    looks_like = "sessions/<year>/<month>/<day>/rollout-*.jsonl"

    def recognises(self, folder: Path) -> bool:
        """Whether there are rollout files in this folder."""
        return any(ROLLOUT.match(path.name) for path in self.paths(folder))

    def transcripts(self, folder: Path) -> Iterator[Transcript]:
        """Every session in it, those that others go on from first."""
        return map(self.transcript, self.paths(folder))

    def lines(self, transcript: Transcript) -> Iterator[TranscriptLine | UnreadableLine]:
        """The session's lines in their order."""
        return self.reader(transcript.files[0]).lines()

    def paths(self, folder: Path, names: Names = names_in) -> Iterator[Path]:
        """The file of every session, the oldest first.

        A folder that may not be read is among them, so that it is refused by its name; so is a link.
        """
        names(folder)
        roots = [folder / name for name in (SESSIONS, ARCHIVED) if (folder / name).is_dir()] or [folder]
        found = [path for root in roots for path in _rollouts(root, 3, names)]
        yield from sorted(found, key=lambda path: (path.name, path))

    def reader(self, path: Path) -> JsonLines:
        """The lines of a session's file, as they come."""
        return JsonLines(path, _nameless, _nameless)

    def transcript(self, path: Path) -> Transcript:
        """What the session of this file is, as far as its first lines say."""
        lines = first_objects(path)
        about = _payload(lines, "session_meta")
        named = ROLLOUT.match(path.name)
        said = about.get("id")
        session_id = said if isinstance(said, str) and said else named["session"] if named else path.stem
        parent = next((about[name] for name in PARENTS if isinstance(about.get(name), str) and about[name]), None)
        git = about.get("git")
        metadata = {
            **{ours: about[name] for name, ours in NOTED.items() if isinstance(about.get(name), str)},
            **_text(_payload(lines, "turn_context"), "model", "model"),
            **_text(git if isinstance(git, dict) else {}, "branch", "gitBranch"),
            **_title(lines),
        }
        return Transcript(
            session_id_for(session_id),
            (path,),
            parent_session=None if parent is None else session_id_for(parent),
            created_at=first_time(path, lines),
            metadata=metadata,
            tags=(NAME,),
        )


def _rollouts(folder: Path, levels: int, names: Names) -> Iterator[Path]:
    try:
        found = names(folder)
    except UnreadableFile:
        yield folder
        return
    for name in found:
        if ROLLOUT.match(name) or (DATED.match(name) and (folder / name).is_symlink()):
            yield folder / name
        elif levels and DATED.match(name):
            yield from _rollouts(folder / name, levels - 1, names)


def _payload(lines: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found = (line.get("payload") for line in lines if line.get("type") == kind)
    return next((payload for payload in found if isinstance(payload, dict)), {})


def _text(found: Mapping[str, Any], name: str, ours: str) -> dict[str, str]:
    said = found.get(name)
    return {ours: said} if isinstance(said, str) and said else {}


def _title(lines: list[dict[str, Any]]) -> dict[str, str]:
    for line in lines:
        words = words_of(line) if speaker_of(line) == "user" else ""
        if words and not words.startswith(PREAMBLE):
            return {"title": title_of(words)}
    return {}


def _nameless(line: Mapping[str, Any]) -> str | None:
    return None
