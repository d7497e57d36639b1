"""The older layout: what a look at it tells, without changing it, and what an import makes of it."""

from pathlib import Path

import pytest
from tests.support.legacy_layout import conversation, message, write_index, write_session

from holdfast.store import Store
from holdfast.transcripts import import_transcripts, recognise
from holdfast.transcripts.legacy import LegacySource, inspect
from holdfast.transcripts.store_sessions import StoreSessions


def layout(folder: Path) -> None:
    """Two hot sessions, an unreferenced one, an entry without a file, one that is none."""
    write_session(folder, "one", conversation("one", "my name is Ada", "hello Ada"))
    write_session(folder, "two", conversation("two", "hi"), torn='{"type": "mess')
    write_session(folder, "cold", conversation("cold", "long ago"))
    write_index(
        folder,
        {
            "agent:main:chat": {"sessionId": "one", "updatedAt": 1_740_823_300_000, "model": "m1"},
            "agent:main:other": "two",
            "agent:main:gone": "lost",
            "agent:main:bad": {"sessionId": "../../etc/passwd"},
        },
    )


def state_of(folder: Path) -> dict[Path, tuple[bytes, int, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in files}


def test_a_look_tells_what_is_there_and_what_is_wrong_and_changes_nothing(tmp_path: Path) -> None:
    layout(tmp_path)
    before = state_of(tmp_path)
    found = inspect(tmp_path)
    assert state_of(tmp_path) == before
    (target,) = found.targets
    assert (target.agent, target.entries) == ("main", 4)
    assert [(each.session_id, each.keys, each.events) for each in found.sessions] == [
        ("one", ("agent:main:chat",), 3),
        ("two", ("agent:main:other",), 2),
        ("cold", (), 2),
    ]
    issues = {(issue.code, issue.session_key, issue.file and issue.file.name, issue.line) for issue in found.issues}
    assert issues == {
        ("entry_invalid", "agent:main:bad", "sessions.json", None),
        ("transcript_missing", "agent:main:gone", "lost.jsonl", None),
        ("transcript_malformed", "agent:main:other", "two.jsonl", 3),
        ("unreferenced_jsonl", None, "cold.jsonl", None),
    }


def test_a_look_names_the_line_of_a_broken_chain_and_of_an_id_that_is_there_twice(tmp_path: Path) -> None:
    lines = [message("a", None, "user", "hi"), message("b", "nowhere", "user", "you"), message("a", "b", "user", "hi")]
    write_session(tmp_path, "one", lines)
    write_index(tmp_path, {"agent:main:one": "one"})
    found = [(issue.code, issue.session_key, issue.line, issue.message) for issue in inspect(tmp_path).issues]
    assert [each[:3] for each in found] == [
        ("transcript_malformed", "agent:main:one", 2),
        ("transcript_malformed", "agent:main:one", 3),
    ]
    assert found[0][3].startswith("one.jsonl line 2: its parent 'line-nowhere' is no earlier line")


@pytest.mark.parametrize("index", ["", "[]", "{", '{"a": 1, "a": 2}'])
def test_an_index_that_cannot_be_read_hides_no_session_and_no_other_agent(tmp_path: Path, index: str) -> None:
    layout(tmp_path)
    write_session(tmp_path, "three", conversation("three", "hi"), agent="ops")
    write_index(tmp_path, {"agent:ops:chat": "three"}, agent="ops")
    write_index(tmp_path, index)
    found = inspect(tmp_path)
    assert found.targets[0].issues[0].code == "store_unreadable"
    assert {each.session_id: each.hot for each in found.sessions} == {
        "one": False,
        "two": False,
        "cold": False,
        "three": True,
    }
    assert [each.session_id for each in inspect(tmp_path, agent="ops").sessions] == ["three"]


async def test_sessions_arrive_with_their_bytes_times_keys_and_agents(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    layout(folder)
    assert recognise(folder) is not None
    done = await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports")
    assert done.sessions == ["one", "two", "cold"]
    assert {(each.session_id, each.code) for each in done.refused} == {
        ("agent:main:bad", "entry_invalid"),
        ("lost", "not_found"),
    }
    assert [(note.file.name, note.line) for note in done.notes.first] == [("two.jsonl", 3)]
    row = await store.sessions.get("one")
    assert (row.agent, row.created_at, row.updated_at) == ("main", 1_740_823_200_000, 1_740_823_300_000)
    assert row.metadata["entry"] == {"model": "m1"}
    events = (await store.read("one"))[1:]
    assert [event.type for event in events] == ["session", "message", "message"]
    lines = (folder / "agents/main/sessions/one.jsonl").read_bytes().splitlines()
    assert [event.payload for event in events] == lines
    assert events[2].parent_id == events[1].event_id
    assert (await store.keys.get("agent:main:chat")).session_id == "one"


async def test_hot_sessions_alone(store: Store, tmp_path: Path) -> None:
    layout(tmp_path / "data")
    source = LegacySource(hot_only=True)
    done = await import_transcripts(StoreSessions(store), source, tmp_path / "data", tmp_path / "imports")
    assert done.sessions == ["one", "two"]


async def test_files_move_to_the_record_and_the_index_stays_as_long_as_it_names_what_is_not_here(
    store: Store, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    layout(folder)
    before = {path: said[0] for path, said in state_of(folder).items()}
    done = await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports", moves=True)
    left = [path.name for path in folder.rglob("*") if path.is_file()]
    assert left == ["sessions.json"], "it names a session that was refused"
    again = await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports", moves=True)
    assert (again.there_before, again.events) == (["one", "two"], 0), "here already, and their files are in the record"
    kept = {path.name: path.read_bytes() for path in done.record.rglob("*.jsonl") if path.parent.name == "sessions"}
    assert kept == {path.name: raw for path, raw in before.items() if path.suffix == ".jsonl"}


async def test_two_agents_with_files_of_one_name_are_two_sessions(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for agent, text in (("main", "from main"), ("ops", "from ops")):
        write_session(folder, "s", [message("e", None, "user", text)], agent=agent)
        write_index(folder, {f"agent:{agent}:x": "s"}, agent=agent)
    done = await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports")
    assert done.sessions == ["s", "ops:s"]
    assert b"from ops" in (await store.read("ops:s"))[1].payload
    assert (await store.keys.get("agent:ops:x")).session_id == "ops:s"


async def test_several_keys_of_one_session_all_route_to_it(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    write_session(folder, "s", conversation("s", "hi"))
    write_index(folder, {"agent:main:a": "s", "agent:main:b": "s"})
    await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports")
    for key in ("agent:main:a", "agent:main:b"):
        assert (await store.keys.get(key)).session_id == "s"
