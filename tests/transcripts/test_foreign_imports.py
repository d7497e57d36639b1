"""Sessions of other programs arrive whole, go on by what is new, and stay masked if they were begun so."""

import json
import shutil
from pathlib import Path

import pytest
from tests.transcripts.test_sources import ASKING, CLAUDE, FIRST, FORK, codex_home, openclaw_home

from holdfast.core.redact import HIDDEN
from holdfast.store import Store
from holdfast.transcripts import import_transcripts, source_of
from holdfast.transcripts.store_sessions import StoreSessions

SECRET = "sk-ant-" + "a1b2c3d4" * 4


async def payloads(store: Store, session_id: str) -> bytes:
    """The lines that were kept of a session."""
    events = await store.read(session_id)
    return b"".join(event.payload + b"\n" for event in events if event.event_id.startswith("line-"))


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    folder = tmp_path / "claude"
    shutil.copytree(CLAUDE, folder)
    return folder


async def test_a_recorded_folder_arrives_byte_for_byte_and_again_changes_nothing(
    store: Store, claude: Path, tmp_path: Path
) -> None:
    source = source_of(claude)
    done = await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports")
    assert source.name == "claude-code" and not done.refused
    assert {FIRST, FORK, ASKING} < set(done.sessions)
    for path in claude.rglob("*.jsonl"):
        (session_id,) = [name for name in done.sessions if name.endswith(path.stem)]
        assert await payloads(store, session_id) == path.read_bytes()
    child = await store.sessions.get(f"{ASKING}.agent-a79d5dcaa2bba5fbe")
    assert child.lineage["parentSession"] == ASKING
    again = await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports")
    assert (again.events, again.sessions, len(again.there_before)) == (0, [], 4)


async def test_a_session_that_went_on_and_one_that_was_rewritten_lose_nothing(
    store: Store, claude: Path, tmp_path: Path
) -> None:
    source = source_of(claude)
    await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports")
    path = next(claude.rglob(f"{FIRST}.jsonl"))
    before = path.read_bytes()
    path.write_bytes(before + b'{"type":"user","uuid":"new"}\n')
    gone_on = await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports")
    assert gone_on.events == 1
    path.write_bytes(b'{"type":"mode","mode":"other"}\n{"type":"user","uuid":"new"}\n')
    rewritten = await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports")
    assert rewritten.events == 1
    kept = await payloads(store, FIRST)
    assert kept == before + b'{"type":"user","uuid":"new"}\n{"type":"mode","mode":"other"}\n'
    assert (await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports")).events == 0


async def test_a_session_that_was_begun_masked_goes_on_masked(store: Store, claude: Path, tmp_path: Path) -> None:
    source = source_of(claude)
    path = next(claude.rglob(f"{FIRST}.jsonl"))
    plain = path.read_bytes()
    told = json.dumps({"type": "user", "message": {"role": "user", "content": f"my key is {SECRET}"}}).encode() + b"\n"
    path.write_bytes(plain + told)
    done = await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports", masks=True)
    assert done.notes.masked == 1
    with path.open("ab") as file:
        file.write(told)
    again = await import_transcripts(StoreSessions(store), source, claude, tmp_path / "imports")
    assert (again.events, again.notes.masked) == (1, 2)
    kept = await payloads(store, FIRST)
    assert SECRET.encode() not in kept and kept.count(HIDDEN.encode()) == 2
    assert kept.startswith(plain), "what has no secret stays as it came"
    assert (await store.sessions.get(FIRST)).metadata["secrets"] == "masked"


async def test_broken_lines_are_told_and_kept_and_broken_chains_too(store: Store, claude: Path, tmp_path: Path) -> None:
    path = next(claude.rglob(f"{FIRST}.jsonl"))
    path.write_bytes(b'{"type":"user","uuid":"a","parentUuid":"nobody"}\n{broken\n\n{"type":"user","uuid":"a"}\n{"to')
    done = await import_transcripts(StoreSessions(store), source_of(claude), claude, tmp_path / "imports")
    notes = [(note.line, note.code) for note in done.notes.first if note.session_id == FIRST]
    assert notes == [
        (1, "chain_broken"),
        (2, "line_unreadable"),
        (3, "line_unreadable"),
        (4, "line_repeated"),
        (5, "line_unreadable"),
    ]
    assert (await store.sessions.get(FIRST)).head_seq == 5


@pytest.mark.parametrize("home", [codex_home, openclaw_home])
async def test_sessions_of_others_arrive_and_are_found_by_their_words(
    store: Store, tmp_path: Path, home: object
) -> None:
    folder = home(tmp_path / "theirs")  # type: ignore[operator]
    done = await import_transcripts(StoreSessions(store), source_of(folder), folder, tmp_path / "imports")
    assert done.sessions and not done.refused
    assert {hit.session_id for hit in (await store.search.find("mend")).hits} <= set(done.sessions)
    assert (await store.search.find("mend")).hits
