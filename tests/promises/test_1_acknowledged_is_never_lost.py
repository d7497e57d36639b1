"""Promise 1: an acknowledged event is never lost."""

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw
import psycopg
import pytest
from tests.support.disks import small_disk
from tests.support.eventually import eventually
from tests.support.history import History, violations
from tests.support.kills import kill_cycles

from holdfast.core.errors import EngineRefused, InvalidInput, OutcomeUnknown, StorageFull, StoreFailed
from holdfast.store import Event, NewEvent, Store, open_store
from holdfast.store.postgres.transaction import PostgresWriter
from holdfast.store.sqlite.engine_version import check_engine, linked_version

pytestmark = pytest.mark.own_store


async def test_a_few_kills_lose_nothing(store_url: str, tmp_path: Path) -> None:
    history, found = await kill_cycles(store_url, tmp_path, 5)
    assert found == []
    assert len(history.acked) > 5


@pytest.mark.long(seconds=45)
@pytest.mark.parametrize("cycles", [200])
async def test_two_hundred_kills_lose_nothing(store_url: str, tmp_path: Path, cycles: int) -> None:
    history, found = await kill_cycles(store_url, tmp_path, cycles)
    assert found == []
    assert len(history.acked) > cycles
    assert history.tried - history.acked.keys(), "no kill met a write in flight: the run proved nothing"


async def test_the_checker_catches_a_writer_that_acknowledges_too_early(sqlite_url: str, tmp_path: Path) -> None:
    _, found = await kill_cycles(sqlite_url, tmp_path, 5, ack_early=True)
    assert any(line.startswith("lost: ") for line in found)


def test_the_checker_catches_every_kind_of_damage() -> None:
    events = [Event(n, f"e{n}", "t", b"1", 0, b"", None, f"k{n}") for n in (1, 2, 3)]
    history = History({"k1", "k2", "k3", "k4"}, {"k1": 1, "k2": 2, "k3": 3}, 1)
    assert violations(history, events) == []
    assert "lost: k2" in violations(history, [events[0], replace(events[2], seq=2)])
    assert "duplicate: k1" in violations(history, [*events, replace(events[0], seq=4)])
    assert "never attempted: k9" in violations(history, [*events, replace(events[0], seq=4, idempotency_key="k9")])
    assert "gap in the seqs" in violations(history, [events[0], events[1], replace(events[2], seq=4)])
    swapped = [replace(events[1], seq=1), replace(events[0], seq=2), events[2]]
    assert any(line.startswith("moved: ") for line in violations(history, swapped))


async def test_a_database_server_killed_under_the_writers_loses_nothing(postgres_url: str) -> None:
    """Every lane's connection is cut while it writes, again and again: the writes run again and none is doubled."""
    async with await open_store(postgres_url) as store:
        acked: dict[str, int] = {}

        async def worker(number: int) -> None:
            for step in range(60):
                key = f"{number}-{step}"
                done = await store.append(f"s{number % 3}", [NewEvent("t", key, idempotency_key=key)])
                acked[key] = done.first_seq

        def has_acked(number: int) -> bool:
            return len(acked) >= number

        async def cutter() -> None:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                for number in range(12):
                    await eventually(partial(has_acked, 50 * number))  # no write meets more cuts than it has tries
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )

        await asyncio.gather(cutter(), *(worker(number) for number in range(12)))
        stored: dict[str, int] = {}
        for number in range(3):
            events = await store.read(f"s{number}")
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            stored |= {event.value(): event.seq for event in events}
            assert (await store.verification.session(f"s{number}")).problem is None
        assert stored == acked
        assert len(acked) == 720


async def test_a_commit_whose_answer_was_lost_is_not_written_twice(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server commits, the connection ends before it can say so: the write runs again and finds itself."""
    commit = PostgresWriter.commit
    cut: list[int] = []

    def commit_and_lose_the_answer(writer: PostgresWriter) -> None:
        commit(writer)
        if len(cut) < 3:
            cut.append(1)
            writer._connection.close()
            raise psycopg.OperationalError("the connection was cut")

    async with await open_store(postgres_url) as store:
        await store.append("s", [NewEvent("t", 0)])
        monkeypatch.setattr(PostgresWriter, "commit", commit_and_lose_the_answer)
        done = await asyncio.gather(*(store.append("s", [NewEvent("t", n)]) for n in range(1, 6)))
        assert len(cut) == 3
        assert [event.value() for event in await store.read("s")] == list(range(6))
        assert sorted(one.first_seq for one in done) == [2, 3, 4, 5, 6]


async def _purged(store: Store, session_id: str) -> bool:
    """Purge it; False while the move to the archive, which a full disk interrupts, is still going on."""
    try:
        await store.archives.purge(session_id)
    except InvalidInput:
        return False
    return True


async def test_a_full_disk_refuses_writes_loses_nothing_and_reads_go_on(tmp_path: Path) -> None:
    """No setting is changed: filled, emptied by a deletion, filled again, enlarged; one process, never restarted."""
    with small_disk(tmp_path, 40) as disk:
        async with await open_store(f"sqlite:///{disk}/holdfast.db") as store:
            for number in range(100):
                await store.append("old", [NewEvent("t", f"{number:050000}")])
            acked = await _fill(store, 0)
            assert acked > 50
            assert len(await store.read("old")) == 100
            await store.deletion.delete("old")
            await eventually(lambda: _purged(store, "old"))
            again = await _fill(store, acked)
            assert again > acked, "a deletion made no room"
            subprocess.run(["mount", "-o", "remount,size=80m", disk], check=True)
            await store.append("s", [NewEvent("t", "room again")])
            assert len(await store.read("s")) == again + 1
            assert (await store.verification.session("s")).problem is None


async def _fill(store: Store, acked: int) -> int:
    """Append until the disk is full; how many were acknowledged in all, and all are there."""
    with pytest.raises(StorageFull) as refusal:
        while True:
            await store.append("s", [NewEvent("t", f"{acked:050000}")])
            acked += 1
    assert refusal.value.hint
    assert [int(event.value()[-9:]) for event in await store.read("s")] == list(range(acked))
    assert (await store.verification.session("s")).problem is None
    return acked


@pytest.mark.skipif(not Path("/usr/bin/gcc").exists(), reason="NOT RUN: the failed-fsync test needs gcc for its shim")
async def test_after_a_failed_fsync_nothing_more_is_acknowledged(tmp_path: Path) -> None:
    """The disk refuses one sync: that write's outcome is unknown, later ones are refused, a new start finds all."""
    said = _with_failing_fsync(tmp_path, FSYNC_PROGRAM, "-wal")
    assert said == ["1", OutcomeUnknown.__name__, StoreFailed.__name__, "1"]
    async with await open_store(f"sqlite:///{tmp_path}/holdfast.db") as store:
        assert (await store.read("s", limit=1))[0].value() == 1
        assert (await store.verification.session("s")).problem is None


@pytest.mark.skipif(not Path("/usr/bin/gcc").exists(), reason="NOT RUN: the failed-fsync test needs gcc for its shim")
async def test_after_a_failed_fsync_of_the_file_itself_nothing_more_is_acknowledged(tmp_path: Path) -> None:
    """The log is synced, but moving it into the file fails: the log must stay, since only it has the rows for sure."""
    *acked, error, last = _with_failing_fsync(tmp_path, CHECKPOINT_PROGRAM, "holdfast.db")
    assert (error, last) == (StoreFailed.__name__, StoreFailed.__name__)
    assert len(acked) > 10
    async with await open_store(f"sqlite:///{tmp_path}/holdfast.db") as store:
        assert [str(event.seq) for event in await store.read("s")] == acked
        assert (await store.verification.session("s")).problem is None


def _with_failing_fsync(folder: Path, text: str, suffix: str) -> list[str]:
    """What a program says whose fsyncs of files with this suffix fail once it has made the file `fail`."""
    source = folder / "shim.c"
    source.write_text(SHIM)
    shim = folder / "shim.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    program = folder / "program.py"
    program.write_text(text)
    flag = {"FAIL_WHEN_EXISTS": str(folder / "fail"), "FAIL_SUFFIX": suffix}
    done = subprocess.run(
        [sys.executable, program, f"sqlite:///{folder}/holdfast.db", folder / "fail"],
        env={**os.environ, "LD_PRELOAD": str(shim), **flag},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int refuse(int fd) {
  const char *flag = getenv("FAIL_WHEN_EXISTS"), *suffix = getenv("FAIL_SUFFIX");
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, name, sizeof name), tail = strlen(suffix);
  return length >= tail && !memcmp(name + length - tail, suffix, tail) && access(flag, F_OK) == 0;
}
int fdatasync(int fd) {
  if (refuse(fd)) { errno = EIO; return -1; }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
int fsync(int fd) {
  if (refuse(fd)) { errno = EIO; return -1; }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""

FSYNC_PROGRAM = """
import asyncio, pathlib, sys
from holdfast.core import HoldfastError
from holdfast.store import NewEvent, open_store

async def main():
    url, flag = sys.argv[1:]
    store = await open_store(url)
    print((await store.append("s", [NewEvent("t", 1)])).first_seq)
    pathlib.Path(flag).touch()
    for n in (2, 3):
        try:
            await store.append("s", [NewEvent("t", n)])
            print("acknowledged", n)
        except HoldfastError as error:
            print(type(error).__name__)
        pathlib.Path(flag).unlink(missing_ok=True)
    print((await store.read("s", limit=1))[0].seq)
    await store.close()

asyncio.run(main())
"""

CHECKPOINT_PROGRAM = """
import asyncio, pathlib, sys
from holdfast.core import HoldfastError
from holdfast.store import NewEvent, open_store

async def main():
    url, flag = sys.argv[1:]
    store = await open_store(url)
    pathlib.Path(flag).touch()
    for _ in range(2):
        try:
            while True:
                print((await store.append("s", [NewEvent("t", "x" * 50_000)])).first_seq)
        except HoldfastError as error:
            print(type(error).__name__)
        pathlib.Path(flag).unlink(missing_ok=True)
    await store.close()

asyncio.run(main())
"""


async def test_a_replaced_log_file_stops_the_acknowledgements(sqlite_url: str) -> None:
    store = await open_store(sqlite_url)
    await store.append("s", [NewEvent("t", 1)])
    wal = Path(sqlite_url.removeprefix("sqlite:///") + "-wal")
    wal.rename(wal.with_suffix(".gone"))
    wal.touch()
    with pytest.raises(OutcomeUnknown):
        await store.append("s", [NewEvent("t", 2)])
    with pytest.raises(StoreFailed):
        await store.append("s", [NewEvent("t", 3)])
    assert store.failure is not None
    wal.unlink()
    wal.with_suffix(".gone").rename(wal)
    await store.close()


REFUSED = ["3.7.0", "3.8.11", "3.40.1", "3.44.5", "3.45.0", "3.50.6", "3.51.0", "3.51.2"]
ALLOWED = ["3.44.6", "3.50.7", "3.51.3", "3.52.0", "3.54.1"]


@pytest.mark.parametrize("version", REFUSED)
def test_an_engine_that_can_lose_rows_is_refused(version: str) -> None:
    with pytest.raises(EngineRefused):
        check_engine(version)


@pytest.mark.parametrize("version", ALLOWED)
def test_a_fixed_engine_is_allowed(version: str) -> None:
    assert check_engine(version) == version


async def test_a_store_is_not_opened_by_a_refused_engine(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_engine(linked_version())
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    with pytest.raises(EngineRefused):
        await open_store(sqlite_url)
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
async def test_a_server_that_may_lose_commits_is_refused(postgres_url: str, setting: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
        connection.execute("SELECT pg_reload_conf()")
        try:
            _wait_for(connection, setting, "off")
            with pytest.raises(EngineRefused):
                await open_store(postgres_url)
        finally:
            connection.execute(f"ALTER SYSTEM RESET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
            _wait_for(connection, setting, "on")


def _wait_for(connection: psycopg.Connection[tuple[object, ...]], setting: str, value: str) -> None:
    deadline = time.monotonic() + 10
    while connection.execute(f"SHOW {setting}".encode()).fetchone() != (value,):
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_every_commit_is_synced(store: Store) -> None:
    """The settings that durability rests on are in force on the connections that write."""
    if store.engine.name == "sqlite":
        connection = store.engine.writer()._connection  # type: ignore[attr-defined]
        assert connection.pragma("synchronous") == 2
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("mmap_size") in (0, None)
    else:
        shown = await store.sessions.workers.write(lambda tx: tx.one("SHOW synchronous_commit"), ("x",))
        assert shown == ("on",)
