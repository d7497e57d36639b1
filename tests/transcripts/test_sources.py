"""What other programs have written is recognised, and its sessions are read whole; nothing of it is touched."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import HoldfastError
from holdfast.transcripts import Transcript, TranscriptLine, TranscriptSource, UnreadableLine
from holdfast.transcripts.files.line_file import UnreadableFile
from holdfast.transcripts.programs.claude_code import ClaudeCode
from holdfast.transcripts.programs.codex import Codex
from holdfast.transcripts.programs.llm_logs import LlmLogs
from holdfast.transcripts.programs.openclaw import OpenClaw
from holdfast.transcripts.programs.sqlite_copy import sqlite_copy
from holdfast.transcripts.words import words_of

RECORDED = Path(__file__).parent / "recorded"
CLAUDE = RECORDED / "claude-code"
FIRST, FORK, ASKING = (f"{digit * 8}-{digit * 4}-4{digit * 3}-8{digit * 3}-{digit * 12}" for digit in "123")


def words(source: TranscriptSource, folder: Path) -> dict[str, list[str]]:
    """What was said in each session."""
    found: dict[str, list[str]] = {}
    for transcript in source.transcripts(folder):
        assert isinstance(transcript, Transcript)
        lines = [each for each in source.lines(transcript) if isinstance(each, TranscriptLine)]
        said = (words_of(json.loads(each.event.payload)) for each in lines)
        found[transcript.session_id] = [each for each in said if each]
    return found


def seen(folder: Path) -> dict[str, Any]:
    """Everything in a folder by name: bytes and times."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("folder", [CLAUDE, CLAUDE / "projects", CLAUDE / "projects" / "-home-ada-work"])
def test_claude_code_sessions_with_their_sub_agents(folder: Path) -> None:
    source = ClaudeCode()
    assert source.recognises(folder)
    found = {each.session_id: each for each in source.transcripts(folder)}
    agent = f"{ASKING}.agent-a79d5dcaa2bba5fbe"
    assert list(found) == [FIRST, FORK, ASKING, agent]
    assert [each.parent_session for each in found.values()] == [None, None, None, ASKING]
    assert found[FIRST].metadata["cwd"] == "/home/ada/work"
    assert found[FIRST].metadata["model"] == "sim-1"
    assert found[FIRST].metadata["version"] == "2.1.325"
    assert [each.metadata["title"] for each in found.values()] == [
        "My name is Ada",
        "What is my name?",
        "Have a helper say cheese",
        "Say cheese",
    ]
    assert all(each.tags == ("claude-code",) for each in found.values())
    for each in found.values():
        lines = list(source.lines(each))
        assert all(isinstance(line, TranscriptLine) for line in lines)
        payloads = [line.event.payload for line in lines if line.event]
        assert b"".join(payload + b"\n" for payload in payloads) == each.files[0].read_bytes()


def test_words_and_unknown_lines_of_claude_code_are_all_there() -> None:
    said = words(ClaudeCode(), CLAUDE)
    assert {"My name is Ada", "Nice to meet you, Ada.", "Conversation compacted"} <= set(said[FIRST])
    assert "The helper said cheese." in said[ASKING]
    kinds = {line.event.type for line in ClaudeCode().lines(next(ClaudeCode().transcripts(CLAUDE))) if line.event}
    assert {"atis-latch", "cost-state", "api-request-shape"} <= kinds


def test_sub_agents_of_older_versions_lie_beside_their_session(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-work"
    project.mkdir(parents=True)
    (project / f"{FIRST}.jsonl").write_text('{"type":"user","uuid":"u1","message":{"content":"hello"}}\n')
    (project / "agent-1a2b.jsonl").write_text(json.dumps({"type": "user", "sessionId": FIRST, "uuid": "u2"}) + "\n")
    found = list(ClaudeCode().transcripts(tmp_path))
    assert [(each.session_id, each.parent_session) for each in found] == [
        (FIRST, None),
        (f"{FIRST}.agent-1a2b", FIRST),
    ]


def test_a_session_that_cannot_be_read_keeps_no_other_out(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-work"
    project.mkdir(parents=True)
    (project / f"{FIRST}.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(project / f"{FORK}.jsonl")
    (project / f"{ASKING}.jsonl").write_text('{"type":"user"}\n')
    source = ClaudeCode()
    found = list(source.transcripts(tmp_path))
    assert [each.session_id for each in found] == [FIRST, FORK, ASKING]
    for each in found[:2]:
        with pytest.raises(UnreadableFile):
            list(source.lines(each))
    assert len(list(source.lines(found[2]))) == 1


def codex_home(folder: Path) -> Path:
    day = folder / "sessions" / "2026" / "11" / "16"
    day.mkdir(parents=True)
    session = "019a8d2e-0000-7000-8000-000000000001"
    lines = [
        {
            "type": "session_meta",
            "payload": {"id": session, "cwd": "/work", "cli_version": "0.99.0", "git": {"branch": "main"}},
        },
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "<environment_context>"}],
            },
        },
        {"type": "turn_context", "payload": {"model": "sim-1"}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Mend the roof"}],
            },
        },
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "ls roof"}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "The roof is mended."}},
    ]
    path = day / f"rollout-2026-11-16T10-00-00-{session}.jsonl"
    path.write_text(
        "".join(json.dumps({"timestamp": f"2026-11-16T10:00:0{n}Z", **line}) + "\n" for n, line in enumerate(lines))
    )
    return folder


def test_codex_rollouts(tmp_path: Path) -> None:
    source, home = Codex(), codex_home(tmp_path)
    assert source.recognises(home) and source.recognises(home / "sessions") and not source.recognises(home / "nothing")
    (found,) = source.transcripts(home)
    assert found.session_id == "019a8d2e-0000-7000-8000-000000000001"
    assert found.metadata == {
        "cwd": "/work",
        "version": "0.99.0",
        "model": "sim-1",
        "gitBranch": "main",
        "title": "Mend the roof",
    }
    said = words(source, home)[found.session_id]
    assert said == ["<environment_context>", "Mend the roof", "shell ls roof", "The roof is mended."]


OLD_LLM = """
    CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
    CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
      conversation_id TEXT, datetime_utc TEXT);
    CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
    INSERT INTO conversations VALUES ('c1', 'Names', 'sim-1');
    INSERT INTO responses VALUES ('r1', 'sim-1', 'My name is Ada', NULL, 'Hello Ada', 'c1', '2026-11-16T10:00:00');
    INSERT INTO responses VALUES ('r2', 'sim-1', 'Who am I?', NULL, 'Ada', 'c1', '2026-11-16T10:00:01');
    INSERT INTO tool_calls VALUES (1, 'r2', 'recall', '{}', 't1');"""
NEW_LLM = """
    CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
    CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT,
      model TEXT, datetime_utc TEXT);
    CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
    CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT,
      text TEXT, payload TEXT);
    INSERT INTO threads VALUES ('c1', 'Names', 'm4', NULL, '2026-11-16T10:00:00');
    INSERT INTO turns VALUES ('r1', 'c1', 'm1', 'm2', 'sim-1', '2026-11-16T10:00:00');
    INSERT INTO turns VALUES ('r3', 'c1', 'm3', 'm4', 'sim-1', '2026-11-16T10:00:02');
    INSERT INTO messages VALUES ('m1', NULL, 'user'), ('m2', 'm1', 'assistant'), ('m3', 'm2', 'user'),
      ('m4', 'm3', 'assistant');
    INSERT INTO parts VALUES (1, 'm1', 0, 'text', NULL, 'My name is Ada', NULL),
      (2, 'm2', 0, 'text', NULL, 'Hello', NULL),
      (3, 'm3', 0, 'text', NULL, 'And now?', NULL), (4, 'm4', 0, 'text', NULL, 'Still Ada', NULL);"""


@pytest.mark.parametrize("wal", [False, True])
def test_llm_logs_of_both_layouts_are_read_and_left_as_they_were(tmp_path: Path, wal: bool) -> None:
    database = sqlite3.connect(tmp_path / "logs.db")
    if wal:
        database.execute("PRAGMA journal_mode = wal")
    database.executescript(OLD_LLM + NEW_LLM)
    database.commit()
    assert (tmp_path / "logs.db-wal").exists() == wal  # what was committed last is in it, and nowhere else
    before = seen(tmp_path)
    source = LlmLogs()
    assert source.recognises(tmp_path) and source.recognises(tmp_path / "logs.db")
    (found,) = source.transcripts(tmp_path)
    assert (found.session_id, found.metadata["title"], found.metadata["model"]) == ("c1", "Names", "sim-1")
    lines = list(source.lines(found))
    assert [each.event and each.event.event_id for each in lines] == ["line-r1", "line-r2", "line-r3"]
    assert words(source, tmp_path)["c1"] == ["My name is Ada\nHello", "Who am I?\nAda", "And now?\nStill Ada"]
    assert seen(tmp_path) == before
    database.close()


def openclaw_home(folder: Path) -> Path:
    (folder / "agents" / "main" / "agent").mkdir(parents=True)
    with sqlite3.connect(folder / "agents" / "main" / "agent" / "openclaw-agent.sqlite") as database:
        database.executescript("""
            CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, model TEXT, display_name TEXT);
            CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER,
              event_zstd BLOB, PRIMARY KEY (session_id, seq));
            INSERT INTO session_windows VALUES ('s1', 'agent:main:one', 'sim-1', 'Roofs');
            INSERT INTO transcript_events VALUES ('s1', 3, NULL, 1003, x'28b52ffd');""")
        database.execute(
            "INSERT INTO transcript_events VALUES ('s1', 2, ?, 1002, NULL)",
            ('{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"Mend  it"}}',),
        )
        database.execute(
            'INSERT INTO transcript_events VALUES (\'s1\', 1, \'{"type":"session","id":"a"}\', 1001, NULL)'
        )
    database.close()
    sessions = folder / "agents" / "main" / "sessions"
    sessions.mkdir()
    (sessions / "sessions.json").write_text(json.dumps({"agent:main:two": {"sessionId": "s2", "updatedAt": 1}}))
    (sessions / "s2.jsonl").write_text(
        '{"type":"session","id":"s2"}\n{"type":"message","id":"m","message":{"role":"user","content":"hi"}}\n'
    )
    return folder


def test_openclaw_sessions_of_its_database_and_of_its_files(tmp_path: Path) -> None:
    source, home = OpenClaw(), openclaw_home(tmp_path)
    before = seen(home)
    assert source.recognises(home)
    found = [each for each in source.transcripts(home) if isinstance(each, Transcript)]
    assert [(each.session_id, each.key, each.agent) for each in found] == [
        ("s1", "agent:main:one", "main"),
        ("s2", "agent:main:two", "main"),
    ]
    lines = list(source.lines(found[0]))
    assert [type(each) for each in lines] == [TranscriptLine, TranscriptLine, UnreadableLine]
    assert [each.event.event_id for each in lines if each.event] == ["line-a", "line-b"]
    assert words(source, home) == {"s1": ["Mend  it"], "s2": ["hi"]}
    assert seen(home) == before


def test_a_damaged_database_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "logs.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(HoldfastError), sqlite_copy(tmp_path / "logs.db") as database:
        database.columns("responses")
    with pytest.raises(HoldfastError):
        LlmLogs().recognises(tmp_path)
