"""Conversations that the command `llm` logs to SQLite: `logs.db`, in both of the layouts that it has had.

A conversation is a session, and each response in it an event with its prompt, its words, tool calls and results. Since
0.32 a thread is a session and each turn an event with its messages; a response that is in both layouts is taken once.
"""

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.core.ids import session_id_for
from holdfast.transcripts.files.json_lines import time_of
from holdfast.transcripts.programs.row_events import row_event
from holdfast.transcripts.programs.sqlite_copy import CopiedDatabase, is_sqlite, sqlite_copy
from holdfast.transcripts.source import Transcript, TranscriptLine, UnreadableLine
from holdfast.transcripts.words import title_of

NAME = "llm"
FILE = "logs.db"

OLD = """
    SELECT c.id, c.name, c.model, min(r.datetime_utc) AS began, max(r.datetime_utc) AS ended
    FROM conversations c JOIN responses r ON r.conversation_id = c.id GROUP BY c.id ORDER BY c.id"""
NEW = """
    SELECT t.id, t.name, t.forked_from, min(n.model) AS model,
      min(n.datetime_utc) AS began, max(n.datetime_utc) AS ended
    FROM threads t LEFT JOIN turns n ON n.thread_id = t.id GROUP BY t.id ORDER BY t.datetime_utc, t.id"""
RESPONSES = "SELECT * FROM responses WHERE conversation_id = ?1 ORDER BY datetime_utc, id"
TURNS = "SELECT * FROM turns WHERE thread_id = ?1 ORDER BY datetime_utc, id"
IS_TURN = "SELECT 1 AS found FROM turns WHERE id = ?1"
MESSAGE = "SELECT hash, parent_hash, role FROM messages WHERE hash = ?1"
PARTS = "SELECT type, tool_name, text, payload FROM parts WHERE message_hash = ?1 ORDER BY position"
CALLS = "SELECT name, arguments, tool_call_id FROM tool_calls WHERE response_id = ?1 ORDER BY id"
RESULTS = "SELECT name, output, tool_call_id FROM tool_results WHERE response_id = ?1 ORDER BY id"


class LlmLogs:
    """The source of `llm`'s conversations; a folder is its own, or the file itself."""

    name = NAME
    looks_like = "logs.db"

    def recognises(self, folder: Path) -> bool:
        """Whether this is, or has, a database of `llm`."""
        for path in self.paths(folder):
            with sqlite_copy(path) as database:
                return bool(database.columns("responses") >= {"prompt", "response"} or _has_turns(database))
        return False

    def transcripts(self, folder: Path) -> Iterator[Transcript]:
        """Every conversation that has a response, then every thread."""
        for path in self.paths(folder):
            with sqlite_copy(path) as database:
                yield from [_transcript(path, row) for row in _sessions(database)]

    def lines(self, transcript: Transcript) -> Iterator[TranscriptLine | UnreadableLine]:
        """The session's responses and turns, in the order of their times."""
        path, named = transcript.files[0], str(transcript.metadata["conversation"])
        with sqlite_copy(path) as database:
            for number, (kind, row) in enumerate(_rows(database, named), 1):
                yield row_event(path, number, kind, str(row["id"]), row, time_of(row.get("datetime_utc")))

    def paths(self, folder: Path) -> Iterator[Path]:
        """The database's file."""
        path = folder if folder.is_file() else folder / FILE
        if is_sqlite(path):
            yield path


def _has_turns(database: CopiedDatabase) -> bool:
    return "thread_id" in database.columns("turns") and "parent_hash" in database.columns("messages")


def _sessions(database: CopiedDatabase) -> list[dict[str, Any]]:
    """The conversations and threads, by id: one that is both is one."""
    found: dict[str, dict[str, Any]] = {}
    if database.columns("conversations") and database.columns("responses"):
        found |= {str(row["id"]): row for row in database.rows(OLD)}
    if _has_turns(database):
        for row in database.rows(NEW):
            found[str(row["id"])] = found.get(str(row["id"]), row)
    return list(found.values())


def _transcript(path: Path, row: dict[str, Any]) -> Transcript:
    metadata: dict[str, Any] = {"conversation": row["id"]}
    if row["model"]:
        metadata["model"] = row["model"]
    if row["name"]:
        metadata["title"] = title_of(str(row["name"]))
    parent = row.get("forked_from")
    return Transcript(
        session_id_for(str(row["id"])),
        (path,),
        parent_session=None if parent is None else session_id_for(str(parent)),
        created_at=time_of(row["began"]),
        updated_at=time_of(row["ended"]),
        metadata=metadata,
        tags=(NAME,),
    )


def _rows(database: CopiedDatabase, named: str) -> Iterator[tuple[str, dict[str, Any]]]:
    turns = _has_turns(database)
    responses = _responses(database, named, turns) if database.columns("responses") else ()
    if not turns:
        yield from responses
        return
    yield from heapq.merge(responses, _turns(database, named), key=lambda each: str(each[1]["datetime_utc"]))


def _responses(database: CopiedDatabase, named: str, turns: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The responses of a conversation that are not turns as well."""
    for row in database.rows(RESPONSES, named):
        if not turns or not list(database.rows(IS_TURN, row["id"])):
            yield "response", row | _tools(database, row["id"])


def _tools(database: CopiedDatabase, response_id: str) -> dict[str, list[dict[str, Any]]]:
    asked = {"tool_calls": CALLS, "tool_results": RESULTS}
    found = {name: list(database.rows(sql, response_id)) for name, sql in asked.items() if database.columns(name)}
    return {name: rows for name, rows in found.items() if rows}


def _turns(database: CopiedDatabase, named: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The turns of a thread, each with the messages that are new in it."""
    said: set[str] = set()
    for row in database.rows(TURNS, named):
        yield "turn", row | {"messages": _messages(database, row["tip_message_hash"], said)}


def _messages(database: CopiedDatabase, tip: str | None, said: set[str]) -> list[dict[str, Any]]:
    """What leads to a message and was not said before, the oldest first."""
    found: list[dict[str, Any]] = []
    while tip is not None and tip not in said:
        said.add(tip)
        message = next(database.rows(MESSAGE, tip), None)
        if message is None:
            break
        found.append({"role": message["role"], "hash": tip, "parts": list(database.rows(PARTS, tip))})
        tip = message["parent_hash"]
    return found[::-1]
