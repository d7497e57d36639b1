"""Large imports are read by a second process: they come out the same, and whichever process dies, nothing is lost."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.eventually import eventually
from tests.support.legacy_layout import conversation, message, write_session
from tests.support.plain_transcripts import PlainTranscripts
from tests.support.processes import spawn
from tests.support.reader_processes import (
    ALONE,
    APART,
    import_apart,
    is_reader,
    kill_readers,
    lay_out_much,
    lines_here,
    readers_of,
)

from holdfast.store import Store, open_store
from holdfast.store.transfer import undo_import
from holdfast.transcripts import Transcript, import_transcripts
from holdfast.transcripts.legacy import LegacySource
from holdfast.transcripts.new_session import TranscriptReader
from holdfast.transcripts.reader import ReaderFailed, ReaderProcess
from holdfast.transcripts.reader.reader_process import COMMAND
from holdfast.transcripts.store_sessions import StoreSessions

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 11


def lay_out_trouble(folder: Path) -> None:
    """Sessions with all that can be wrong with one, between two that are whole."""
    write_session(folder, "a", conversation("a", "hi", "there"))
    write_session(
        folder, "broken", [*conversation("broken", "hi"), message("e9", "nowhere", "user", "lost"), "no json"]
    )
    write_session(folder, "twice", [message("e1", None, "user", "x"), message("e1", None, "user", f"y {SECRET}")])
    write_session(folder, "torn", conversation("torn", "hi"), torn='{"type":"mess')
    (folder / "agents/main/sessions/folder.jsonl").mkdir()
    (folder / "agents/main/sessions/link.jsonl").symlink_to(folder / "agents/main/sessions/a.jsonl")
    write_session(folder, "long", [message("e1", None, "user", "long " * 2_000_000), message("e2", "e1", "user", "x")])
    write_session(folder, "z", conversation("z", "bye"))


@pytest.mark.parametrize("masks", [False, True])
async def test_two_processes_import_what_one_does(store: Store, tmp_path: Path, masks: bool) -> None:
    lay_out_trouble(tmp_path / "in")
    seen = []
    for apart in (ALONE, APART):
        tenant = store.for_tenant(f"{store.tenant}-{apart}")
        readers: set[int] = set()

        def look(number: int, of: int, readers: set[int] = readers) -> None:
            readers.update(readers_of(os.getpid()))

        place = tmp_path / f"imports-{apart}"
        sessions = StoreSessions(tenant)
        done = await import_transcripts(
            sessions, LegacySource(), tmp_path / "in", place, look, masks=masks, apart=apart
        )
        assert bool(readers) == (apart == APART)
        logs = {each: await tenant.read(each) for each in done.sessions}
        seen.append((done.sessions, done.events, done.notes, done.refused, logs))
    alone, apart_ = seen
    assert alone == apart_
    assert alone[0] == ["a", "broken", "long", "torn", "twice", "z"]
    assert [each.session_id for each in alone[3]] == ["folder", "link"]
    assert alone[2].masked == (1 if masks else 0)
    assert set(alone[2].counts) >= {"line_unreadable", "line_repeated", "chain_broken"}


async def test_a_small_import_starts_no_process(store: Store, tmp_path: Path) -> None:
    write_session(tmp_path / "in", "one", conversation("one", "hi"))
    readers: list[int] = []
    await import_transcripts(
        StoreSessions(store),
        LegacySource(),
        tmp_path / "in",
        tmp_path / "imports",
        lambda *_: readers.extend(readers_of(os.getpid())),
    )
    assert readers == []


async def test_a_source_that_is_not_of_the_package_is_read_here(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.lines").write_text("a - x\n")
    done = await import_transcripts(
        StoreSessions(store), PlainTranscripts(), tmp_path / "in", tmp_path / "imports", apart=APART
    )
    assert done.sessions == ["one"]


async def test_a_reader_that_is_killed_is_an_error_and_the_next_import_is_complete(
    store: Store, tmp_path: Path
) -> None:
    before = lay_out_much(tmp_path / "in")
    killed: list[int] = []

    def kill(number: int, of: int) -> None:
        if number == 2:
            killed.extend(kill_readers(signal.SIGKILL))

    with pytest.raises(ReaderFailed, match="ended by signal 9"):
        await import_apart(store, tmp_path, kill)
    assert len(killed) == 1
    assert 0 < len(await lines_here(store)) < len(before)
    done = await import_apart(store, tmp_path)
    assert await lines_here(store) == before
    assert [done.record] == list((tmp_path / "imports").iterdir()), "one import, under one record"
    assert sorted((await undo_import(StoreSessions(store), done.record)).sessions) == sorted(before)


def import_and_wait(url: str, folder: str) -> None:
    """Import until four sessions are taken; then say who reads, and wait to be killed."""

    def wait(number: int, of: int) -> None:
        if number == 4:
            pids = readers_of(os.getpid())
            Path(folder, "waiting.part").write_text("\n".join(map(str, pids)))
            Path(folder, "waiting.part").rename(Path(folder, "waiting"))
            signal.pause()

    async def run() -> None:
        async with await open_store(url) as store:
            await import_apart(store, Path(folder), wait)

    asyncio.run(run())


async def test_when_the_importing_process_is_killed_the_reader_ends_and_the_next_import_is_complete(
    store_url: str, tmp_path: Path
) -> None:
    before = lay_out_much(tmp_path / "in")
    importing = spawn(import_and_wait, store_url, str(tmp_path))
    waiting = tmp_path / "waiting"
    await eventually(lambda: waiting.exists() or not importing.is_alive())
    (reader,) = map(int, waiting.read_text().split())
    assert is_reader(reader)
    importing.kill()
    await eventually(lambda: not is_reader(reader))
    await asyncio.to_thread(importing.join, 60)
    async with await open_store(store_url) as store:
        assert 0 < len(await lines_here(store)) < len(before)
        done = await import_apart(store, tmp_path)
        assert await lines_here(store) == before
        assert [done.record] == list((tmp_path / "imports").iterdir()), "one import, under one record"


async def test_an_import_that_is_cancelled_leaves_no_process(store: Store, tmp_path: Path) -> None:
    before = lay_out_much(tmp_path / "in")
    readers: list[int] = []

    def cancel(number: int, of: int) -> None:
        if number == 2:
            readers.extend(readers_of(os.getpid()))
            running.cancel()

    running = asyncio.create_task(import_apart(store, tmp_path, cancel))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(readers) == 1
    assert not is_reader(readers[0])
    await import_apart(store, tmp_path)
    assert await lines_here(store) == before


def test_a_reader_ends_in_the_middle_of_anything_once_nobody_reads_what_it_says() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        assert process.wait(60) == 1, "though its orders are not at their end"
        process.stdin.close()


def transcripts_of(folder: Path) -> list[Transcript]:
    return [each for each in LegacySource().transcripts(folder) if isinstance(each, Transcript)]


def test_transcripts_that_nobody_takes_are_passed_over_and_one_is_read_again_here(tmp_path: Path) -> None:
    lay_out_trouble(tmp_path)
    reader = TranscriptReader(LegacySource(), tmp_path, False, {})
    transcripts = {each.session_id: each for each in transcripts_of(tmp_path)}
    with ReaderProcess(reader) as process:
        process.start()
        process.order(transcripts.values())
        for name in ("a", "torn", "a", "z", "long"):
            new = process.read(transcripts[name])
            with new.log, reader.read(transcripts[name]).log as expected:
                assert (new.transcript, new.header.head_hash) == (transcripts[name], expected.head_hash)
                assert list(new.log.events()) == list(expected.events())


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("import sys; sys.stdin.buffer.read(); sys.stdout.write('nonsense')", "ended with exit code 0"),
        (
            "import sys; from holdfast.transcripts.reader.frames import *; sys.stdin.buffer.read();"
            "write_frame(sys.stdout.buffer, FrameKind.FAILED, 'MemoryError: none left')",
            "failed: MemoryError: none left",
        ),
    ],
)
def test_a_reader_that_ends_too_early_or_fails_is_an_error_that_says_so(
    tmp_path: Path, program: str, says: str
) -> None:
    lay_out_trouble(tmp_path)
    transcripts = transcripts_of(tmp_path)
    with ReaderProcess(
        TranscriptReader(LegacySource(), tmp_path, False, {}), (sys.executable, "-c", program)
    ) as process:
        process.start()
        process.order(transcripts)
        with pytest.raises(ReaderFailed, match=says):
            process.read(transcripts[0])


def test_what_a_reader_cannot_do_is_told(tmp_path: Path) -> None:
    done = subprocess.run(COMMAND, input=pickle.dumps("no reader") * 2, capture_output=True, check=True)
    assert b"AttributeError" in done.stdout


def test_where_no_process_can_be_started_transcripts_are_read_here(tmp_path: Path) -> None:
    lay_out_trouble(tmp_path)
    transcripts = transcripts_of(tmp_path)
    reader = TranscriptReader(LegacySource(), tmp_path, False, {})
    with ReaderProcess(reader, (str(tmp_path / "nothing"),)) as process:
        process.start()
        process.order(transcripts)
        with process.read(transcripts[0]).log as log:
            assert log.head_seq == 4
