"""Folders that somebody made to harm: no link leads out of them, and what cannot be read keeps nobody out."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.legacy_layout import conversation, write_index, write_session
from tests.transcripts.test_guard_keeping import GuardedStore

from holdfast.store import Store
from holdfast.store.transfer import begin_record, origin
from holdfast.transcripts import TranscriptSource, import_transcripts
from holdfast.transcripts.files.folder_walk import names_in
from holdfast.transcripts.files.line_file import UnreadableFile
from holdfast.transcripts.guard import FolderWatch, TranscriptGuard
from holdfast.transcripts.guard.source import FileSource
from holdfast.transcripts.legacy import LegacySource, inspect
from holdfast.transcripts.programs.claude_code import ClaudeCode
from holdfast.transcripts.programs.codex import Codex
from holdfast.transcripts.programs.openclaw import OpenClaw
from holdfast.transcripts.store_sessions import StoreSessions

ONE, TWO = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")
LINE = json.dumps({"type": "user", "uuid": "u1", "message": {"role": "user", "content": "inside"}}) + "\n"
SECRET = LINE.replace("inside", "outside")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with sessions in every layout, which nobody has named."""
    folder = tmp_path / "outside"
    for name in (f"{TWO}.jsonl", "subagents/agent-x.jsonl", "sessions/secret.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SECRET)
    return folder


def claude(folder: Path) -> Path:
    """A folder of Claude Code's; its project."""
    project = folder / "projects" / "-work"
    project.mkdir(parents=True)
    (project / f"{ONE}.jsonl").write_text(LINE)
    return project


def claude_project(folder: Path, outside: Path) -> TranscriptSource:
    claude(folder)
    (folder / "projects" / "-elsewhere").symlink_to(outside)
    return ClaudeCode()


def claude_agents(folder: Path, outside: Path) -> TranscriptSource:
    (claude(folder) / ONE).symlink_to(outside)
    return ClaudeCode()


def codex_day(folder: Path, outside: Path) -> TranscriptSource:
    month = folder / "sessions" / "2026" / "11"
    (month / "16").mkdir(parents=True)
    name = f"rollout-2026-11-16T10-00-00-{ONE}.jsonl"
    (month / "16" / name).write_text(LINE)
    (outside / name.replace(ONE, TWO)).write_text(SECRET)
    (month / "17").symlink_to(outside)
    return Codex()


def legacy_agent(folder: Path, outside: Path) -> TranscriptSource:
    write_session(folder, "one", conversation("one", "inside"))
    (folder / "agents" / "elsewhere").symlink_to(outside)
    return LegacySource()


def legacy_sessions(folder: Path, outside: Path) -> TranscriptSource:
    write_session(folder, "one", conversation("one", "inside"))
    (folder / "agents" / "other").mkdir()
    (folder / "agents" / "other" / "sessions").symlink_to(outside / "sessions")
    return LegacySource()


def openclaw_agent(folder: Path, outside: Path) -> TranscriptSource:
    write_session(folder, "one", conversation("one", "inside"))
    (folder / "openclaw.json").write_text("{}")
    (folder / "agents" / "elsewhere").symlink_to(outside)
    return OpenClaw()


LAYOUTS = (claude_project, claude_agents, codex_day, legacy_agent, legacy_sessions, openclaw_agent)


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_import_follows_no_link_to_a_folder(
    store: Store, tmp_path: Path, outside: Path, layout: Callable[[Path, Path], TranscriptSource]
) -> None:
    source = layout(tmp_path / "in", outside)
    done = await import_transcripts(StoreSessions(store), source, tmp_path / "in", tmp_path / "imports")
    assert len(done.sessions) == 1
    assert [event for event in await store.read(done.sessions[0]) if b"inside" in event.payload]
    assert done.refused and all("link" in each.reason for each in done.refused)
    kept = [path.read_bytes() for path in (tmp_path / "imports").rglob("*") if path.is_file()]
    assert not [each for each in kept if b'"outside"' in each], "nor does a copy of it come into the record"


@pytest.mark.parametrize("layout", [claude_project, claude_agents, codex_day, openclaw_agent])
@pytest.mark.own_store
async def test_a_guard_follows_no_link_to_a_folder(
    store: Store, tmp_path: Path, outside: Path, layout: Callable[[Path, Path], FileSource]
) -> None:
    guard = TranscriptGuard(FolderWatch(layout(tmp_path / "in", outside), tmp_path / "in"), masks=False)
    for path, signature in guard.watch.changes().items():
        await guard.keep(GuardedStore(store), path, signature)
    assert guard.report.sessions == 1
    assert guard.report.refused and all("link" in reason for reason in guard.report.refused.values())
    assert len((await store.sessions.list()).sessions) == 1


def test_a_look_at_the_older_layout_follows_none_either(tmp_path: Path, outside: Path) -> None:
    legacy_agent(tmp_path / "in", outside)
    legacy_sessions(tmp_path / "in", outside)
    found = inspect(tmp_path / "in")
    assert [each.session_id for each in found.sessions] == ["one"]
    assert [issue.code for issue in found.issues if "behind a link" in issue.message] == ["store_unreadable"] * 2


@pytest.mark.parametrize(
    ("layout", "unreadable"),
    [
        (claude_agents, f"projects/-work/{ONE}/subagents"),
        (claude_project, "projects/-elsewhere"),
        (claude_project, "projects"),
        (codex_day, "sessions/2026/11/15"),
        (openclaw_agent, "agents/elsewhere/sessions"),
    ],
)
def test_a_folder_that_may_not_be_read_is_named_and_keeps_no_other_out(
    tmp_path: Path, outside: Path, layout: Callable[[Path, Path], FileSource], unreadable: str
) -> None:
    folder = tmp_path / "in"
    source = layout(folder, outside)
    if isinstance(source, Codex):
        (folder / unreadable).mkdir()

    def names(path: Path) -> list[str]:
        if path == folder / unreadable:
            raise UnreadableFile(f"cannot read {path}: Permission denied")
        return names_in(path)

    found = list(source.paths(folder, names))
    assert folder / unreadable in found
    assert unreadable == "projects" or [path for path in found if path.suffix == ".jsonl" and path.is_file()]


async def test_a_damaged_database_of_one_agent_keeps_no_other_out(store: Store, tmp_path: Path) -> None:
    for agent in ("a", "b"):
        write_session(tmp_path / "in", f"of-{agent}", conversation(f"of-{agent}", "hi"), agent=agent)
    (tmp_path / "in" / "openclaw.json").write_text("{}")
    database = tmp_path / "in" / "agents" / "a" / "agent" / "openclaw-agent.sqlite"
    database.parent.mkdir()
    database.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    done = await import_transcripts(StoreSessions(store), OpenClaw(), tmp_path / "in", tmp_path / "imports")
    assert sorted(done.sessions) == ["of-a", "of-b"]
    assert [(each.session_id, each.code) for each in done.refused] == [("a", "unreadable_database")]


@pytest.mark.parametrize("said", [10**30, -1, 2**62, 1e300, True, "9999-99-99T00:00:00Z", None, {}])
async def test_a_time_that_no_clock_has_keeps_no_session_out(store: Store, tmp_path: Path, said: object) -> None:
    write_session(tmp_path / "in", "one", conversation("one", "hi"))
    write_index(tmp_path / "in", {"agent:main:chat": {"sessionId": "one", "updatedAt": said}})
    done = await import_transcripts(StoreSessions(store), LegacySource(), tmp_path / "in", tmp_path / "imports")
    assert (done.sessions, done.refused) == (["one"], [])


async def test_an_import_that_changes_nothing_leaves_no_record_beside_the_one_that_has_its_files(
    store: Store, tmp_path: Path
) -> None:
    write_session(tmp_path / "in", "one", conversation("one", "hi"))
    broken = write_session(tmp_path / "in", "two", conversation("two", "hi"))
    broken.unlink()
    broken.mkdir()

    async def records() -> list[Path]:
        done = await import_transcripts(StoreSessions(store), LegacySource(), tmp_path / "in", tmp_path / "imports")
        found = sorted((tmp_path / "imports").iterdir())
        assert (done.record in found, [each.session_id for each in done.refused]) == (True, ["two"])
        return found

    first = await records()
    assert (len(first), await records(), await records()) == (1, first, first)
    write_session(tmp_path / "in", "one", conversation("one", "hi", "and more"))
    assert len(await records()) == 2
    assert len(await records()) == 2


async def test_files_that_go_or_change_while_they_are_copied_keep_no_other_out(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    one, two, three = (write_session(folder, name, conversation(name, "hi")) for name in ("one", "two", "three"))
    files = [(path, f"files/{path.name}") for path in (one, two, three)]
    with begin_record(tmp_path / "imports", origin("legacy", folder), files) as record:
        two.unlink()
        three.write_bytes(three.read_bytes().replace(b"hi", b"ho"))
        record.copy()
    manifest = json.loads((record.path / "manifest.json").read_bytes())["files"]
    assert [Path(each["source"]).name for each in manifest] == ["one.jsonl", "three.jsonl"]
    for each in manifest:
        kept = (record.path / each["archive"]).read_bytes()
        assert (len(kept), sha256(kept).hexdigest()) == (each["size"], each["sha256"])
    done = await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports")
    assert (sorted(done.sessions), done.refused) == (["one", "three"], [])


async def test_an_import_that_was_cut_off_ends_though_a_file_has_gone(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    one, two = (write_session(folder, name, conversation(name, "hi")) for name in ("one", "two"))
    about = {**origin("legacy", folder), "moves": False}
    with begin_record(tmp_path / "imports", about, [(path, f"files/{path.name}") for path in (one, two)]) as record:
        two.unlink()
    done = await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports")
    assert (done.record, done.sessions) == (record.path, ["one"])


async def test_a_masked_import_does_not_go_on_with_one_that_keeps_copies(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    one = write_session(folder, "one", conversation("one", "password=hunter2hunter2"))
    about = {**origin("legacy", folder), "moves": False}
    with begin_record(tmp_path / "imports", about, [(one, "files/one.jsonl")]):
        pass
    done = await import_transcripts(StoreSessions(store), LegacySource(), folder, tmp_path / "imports", masks=True)
    assert done.sessions == ["one"]
    assert not [path for path in done.record.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
