"""Retention and backups by themselves: when they are due, by one gateway at a time, and given up without a trace."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import httpx2
import psycopg
import pytest
from tests.gateway.figures import figure, parsed
from tests.gateway.process import PATIENCE, Running, running
from tests.support.eventually import eventually, wait_until
from tests.support.web import web_client

from holdfast.core.errors import InvalidInput, NotFound, StoreUnavailable
from holdfast.gateway.operations import timers
from holdfast.gateway.operations.backups import Backups
from holdfast.gateway.operations.timers import ServedStore, Timer, TimerPace, Timers
from holdfast.store import NewEvent, Policy, Store, open_store
from holdfast.store.backup.backup import damaged_sessions, restore
from holdfast.store.backup.backup_process import BackupFailed, BackupJob, back_up_apart

DAY = 86_400_000
QUICK = 100
HELD_BACK = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"""
PACE = TimerPace(shortest_ms=QUICK)
"""Timers of this process may go off more often than once a second."""
SOON = replace(PACE, first_look_ms=10)


@asynccontextmanager
async def going(
    options: Timers, store: Store, url: str, data: Path, *, alone: bool = True
) -> AsyncIterator[dict[str, Timer]]:
    """The timers at work over an open store."""
    async with timers.running(options, ServedStore(store, url, alone), data, asyncio.Event()) as made:
        yield {timer.name: timer for timer in made}


def backups_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


async def fill(store: Store, *names: str) -> None:
    for name in names:
        await store.append(name, [NewEvent("n", {"n": n}) for n in range(5)])


async def test_a_backup_is_made_and_checked_and_only_the_newest_are_kept(
    store_url: str, tmp_path: Path, postgres: Any
) -> None:
    folder = tmp_path / "copies"
    options = Timers(backup_every_ms=QUICK, backup_folder=folder, backup_keep=2, pace=PACE)
    backups = Backups(folder, 2)
    folder.mkdir()
    for old in (1, 2, 3):
        backups.path_at(old).touch()
    async with await open_store(store_url) as store:
        await fill(store, "a", "b")
        async with going(options, store, store_url, tmp_path) as found:
            await eventually(lambda: not backups.path_at(3).exists())
            assert (found["backup"].failures, found["backup"].failure) == (0, None)
            assert found["backup"].last_success is not None
    kept = backups_in(folder)
    assert len(kept) == 2
    assert {oct((folder / name).stat().st_mode & 0o777) for name in kept} == {"0o600"}
    target = f"sqlite:///{tmp_path}/restored.db" if store_url.startswith("sqlite") else postgres.new_database()
    async with await restore(folder / kept[-1], target) as again:
        assert {row.session_id for row in (await again.sessions.list()).sessions} == {"a", "b"}


async def test_retention_is_applied_to_every_tenant_and_never_to_what_is_held(store_url: str, tmp_path: Path) -> None:
    async with await open_store(store_url) as store:
        other = store.for_tenant("other")
        for each in (store, other):
            await fill(each, "old", "held", "new")
            await each.sessions.hold("held", True)
        options = Timers(Policy(max_sessions=2), retention_every_ms=QUICK, pace=PACE)
        async with going(options, store, store_url, tmp_path) as found:
            await eventually(lambda: found["retention"].last_success is not None)
        for each in (store, other):
            assert {row.session_id for row in (await each.sessions.list()).sessions} == {"held", "new"}
            assert [gone.reason for gone in (await each.archives.list())] == ["retention: count"]


async def test_archives_are_purged_for_every_tenant_when_they_are_old_enough(store_url: str, tmp_path: Path) -> None:
    async with await open_store(store_url) as store:
        other = store.for_tenant("other")
        for each in (store, other):
            await fill(each, "gone", "here")
            await each.deletion.delete("gone")
        keeping = Timers(purge_after_ms=DAY, retention_every_ms=QUICK, pace=PACE)
        async with going(keeping, store, store_url, tmp_path) as found:
            await eventually(lambda: found["purge"].runs > 1)
        assert [each.purged_at for each in await other.archives.list()] == [None]
        options = Timers(purge_after_ms=QUICK, retention_every_ms=QUICK, pace=PACE)
        async with going(options, store, store_url, tmp_path) as found:
            await until_purged(store, other)
        for each in (store, other):
            with pytest.raises(NotFound):
                _ = [event async for event in each.archives.events("gone")]
            assert [row.session_id for row in (await each.sessions.list()).sessions] == ["here"]
            assert (await each.archives.get("gone")).purged_at is not None


async def until_purged(*stores: Store) -> None:
    """Wait until no store has an archive that can be read."""
    async with asyncio.timeout(PATIENCE):
        for store in stores:
            while await store.archives.due(2**62):
                await asyncio.sleep(0.01)


async def test_what_was_done_a_moment_ago_is_not_done_again_after_a_restart(store_url: str, tmp_path: Path) -> None:
    options = Timers(Policy(max_age_ms=DAY), DAY, backup_every_ms=DAY, backup_folder=tmp_path / "copies", pace=SOON)
    alone = store_url.startswith("sqlite")
    for round_number in range(3):
        async with await open_store(store_url) as store:
            await fill(store, "a")
            async with going(options, store, store_url, tmp_path, alone=alone) as found:
                await eventually(lambda: all(timer.last_success and not timer.running for timer in found.values()))
                await asyncio.sleep(0.05)
                assert [timer.runs for timer in found.values()] == ([1, 1] if round_number == 0 else [0, 0])
    assert len(backups_in(tmp_path / "copies")) == 1


async def test_the_newest_backups_age_decides_also_after_the_folder_was_emptied(
    sqlite_url: str, tmp_path: Path
) -> None:
    """A gateway that restarts every ten minutes still makes its daily backup; one without any makes one at once."""
    folder = tmp_path / "copies"
    options = Timers(backup_every_ms=DAY, backup_folder=folder, pace=SOON)
    backups = Backups(folder, 7)
    now = int(time.time() * 1000)

    async def made_with(*begun: int) -> int:
        for path in folder.glob("*"):
            path.unlink()
        folder.mkdir(exist_ok=True)
        for each in begun:
            backups.path_at(each).touch()
        async with await open_store(sqlite_url) as store:
            await fill(store, "a")
            async with going(options, store, sqlite_url, tmp_path) as found:
                await eventually(lambda: found["backup"].last_success and not found["backup"].running)
                await asyncio.sleep(0.05)
                return found["backup"].runs

    assert await made_with() == 1
    assert await made_with(now - DAY + 600_000) == 0
    assert await made_with(now - DAY - 1_000) == 1
    assert await made_with(now + 400 * DAY) == 1, "a backup from the future says nothing"
    assert await made_with(now + 400 * DAY, now - 1_000) == 0


async def test_of_several_gateways_one_does_it_at_a_time(postgres_url: str, tmp_path: Path) -> None:
    """Six gateways' timers over one database: one run after the other, never two at once."""
    at_work: list[int] = []
    most = 0
    stopping = asyncio.Event()

    async with await open_store(postgres_url) as store:

        async def work() -> dict[str, Any]:
            nonlocal most
            at_work.append(1)
            most = max(most, len(at_work))
            await asyncio.sleep(0.05)
            at_work.pop()
            return {}

        made = [Timer("backup", QUICK, work, ServedStore(store, postgres_url, False), f"gateway-{n}") for n in range(6)]
        tasks = [asyncio.create_task(each.go(stopping)) for each in made]
        async with asyncio.timeout(PATIENCE):
            while sum(each.runs for each in made) < 5:
                await asyncio.sleep(0.01)
        stopping.set()
        await asyncio.gather(*tasks)
    assert most == 1
    assert sum(each.failures for each in made) == 0


def test_two_real_gateways_on_one_database_share_the_work(postgres_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    options = ("--store", postgres_url, "--backup-every", "60s", "--backup-folder", str(folder))
    with running(tmp_path / "one", *options) as one, client_of(one) as first:
        wait_until(lambda: timer(first)["lastSuccess"])  # who finds another at work looks again after a minute
        with running(tmp_path / "two", *options) as two, client_of(two) as second:
            wait_until(lambda: timer(second)["lastSuccess"])
            assert sum(timer(client)["runs"] for client in (first, second)) == 1
            shown = {timer(client)["lastSuccess"] for client in (first, second)}
            assert len(shown) == 1, "both know of the one"
            assert [each.stop()[0] for each in (one, two)] == [0, 0]
    assert len(backups_in(folder)) == 1


def test_of_two_real_gateways_at_the_same_moment_one_backs_up(postgres_url: str, tmp_path: Path) -> None:
    """Both are about to take the duty, held back by a lock, when the lock is given up."""
    folder = tmp_path / "copies"
    options = ("--store", postgres_url, "--backup-every", "60s", "--backup-folder", str(folder))
    with psycopg.connect(postgres_url) as locking, ExitStack() as stack:
        locking.execute("LOCK TABLE duties IN EXCLUSIVE MODE")  # read by all, written by nobody
        gateways = [stack.enter_context(running(tmp_path / name, *options)) for name in ("one", "two")]
        clients = [stack.enter_context(client_of(each)) for each in gateways]
        wait_until(lambda: locking.execute(HELD_BACK).fetchone() == (2,))
        assert backups_in(folder) == []
        locking.commit()
        wait_until(lambda: any(timer(each)["lastSuccess"] for each in clients))
        assert sorted(timer(each)["runs"] for each in clients) == [0, 1]
        assert [each.stop()[0] for each in gateways] == [0, 0]
    assert len(backups_in(folder)) == 1


async def test_another_takes_over_from_one_that_died(postgres_url: str, tmp_path: Path) -> None:
    pace = replace(PACE, hold_ms=300, retry_ms=50)
    async with await open_store(postgres_url) as store:
        await store.duties.take("retention", "one that died", 500)
        options = Timers(Policy(max_sessions=1), retention_every_ms=QUICK, pace=pace)
        async with going(options, store, postgres_url, tmp_path, alone=False) as found:
            await eventually(lambda: found["retention"].last_success is not None)


async def test_a_duty_is_kept_for_as_long_as_the_work_takes(store_url: str, tmp_path: Path) -> None:
    pace = replace(PACE, hold_ms=1_000)
    stopping, go_on = asyncio.Event(), asyncio.Event()

    async with await open_store(store_url) as store:

        async def work() -> dict[str, Any]:
            await go_on.wait()
            return {}

        timer = Timer("backup", 1_000, work, ServedStore(store, store_url, False), "one", pace=pace)
        task = asyncio.create_task(timer.go(stopping))
        await eventually(lambda: timer.running)
        try:
            for _ in range(15):
                await asyncio.sleep(0.1)
                assert (await store.duties.take("backup", "two", 1_000)).holder == "one"
        finally:
            stopping.set()
            go_on.set()
            await task
        assert (await store.duties.take("backup", "two", 1_000)).holder == "two"


async def test_a_failed_run_is_said_counted_and_tried_again(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "copies"
    folder.write_text("a file where the folder should be")
    options = Timers(backup_every_ms=QUICK, backup_folder=folder, pace=PACE)
    async with await open_store(sqlite_url) as store:
        await fill(store, "a")
        async with going(options, store, sqlite_url, tmp_path) as found:
            timer = found["backup"]
            await eventually(lambda: timer.failures >= 2)
            assert str(folder) in (timer.failure or "")
            assert (timer.last_success, timer.last_failure is not None) == (None, True)
            assert "backup failed and is tried again in 0 s" in caplog.text
            folder.unlink()
            await eventually(lambda: timer.last_success is not None)
            assert timer.failure is None
    assert len(backups_in(folder)) >= 1


async def test_damaged_sessions_are_said_and_the_last_sound_backup_is_kept(sqlite_url: str, tmp_path: Path) -> None:
    from tests.gateway.test_transfer import damage

    folder = tmp_path / "copies"
    async with await open_store(sqlite_url) as store:
        await fill(store, "a")
        async with going(
            Timers(backup_every_ms=QUICK, backup_folder=folder, backup_keep=1, pace=PACE), store, sqlite_url, tmp_path
        ) as found:
            await eventually(lambda: found["backup"].last_success is not None)
            damage(sqlite_url, "UPDATE transcript_events SET payload = {blob} WHERE seq = 3")
            await eventually(lambda: found["backup"].failure is not None)
            runs = found["backup"].runs
            await eventually(lambda: found["backup"].runs > runs + 1)
            assert "1 of its sessions are damaged: default/a: event 3" in (found["backup"].failure or "")
            assert found["backup"].failures == 0
        kept = [folder / name for name in backups_in(folder)]
    sound, broken = (damaged_sessions(each) for each in kept)
    assert (sound, [each.session_id for each in broken]) == ((), ["a"])
    async with await restore(kept[0], f"sqlite:///{tmp_path}/restored.db") as again:
        assert (await again.verification.session("a")).problem is None


async def test_waiting_between_failures_grows_to_an_end(sqlite_url: str) -> None:
    async with await open_store(sqlite_url) as store:

        async def work() -> dict[str, Any]:
            return {}

        timer = Timer("backup", DAY, work, ServedStore(store, sqlite_url, True), "one")
        pauses = [timer._failed(StoreUnavailable("no")) / 1_000 for _ in range(100)]
    assert pauses[:8] == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert set(pauses[8:]) == {3600}


async def test_a_backup_apart_that_fails_says_why(sqlite_url: str, tmp_path: Path) -> None:
    async with await open_store(sqlite_url) as store:
        await fill(store, "a")
        made = await back_up_apart(BackupJob(sqlite_url, tmp_path / "copy"), asyncio.Event())
        assert (made.path, made.sessions, made.size_bytes) == (tmp_path / "copy", 1, (tmp_path / "copy").stat().st_size)
        with pytest.raises(BackupFailed, match="exists already") as refusal:
            await back_up_apart(BackupJob(sqlite_url, tmp_path / "copy"), asyncio.Event())
        assert refusal.value.details == {"reason": "invalid_input"}
    assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name) == ["copy"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_backup_under_way_is_given_up_without_half_a_file(tmp_path: Path, how: signal.Signals) -> None:
    """SIGTERM ends it in order, and even after SIGKILL the process that writes the copy ends by itself."""
    data, folder = tmp_path / "data", tmp_path / "copies"
    data.mkdir()

    async def fill_well() -> None:
        async with await open_store(f"sqlite:///{data}/holdfast.db") as store:
            for number in range(10):
                await store.append(f"s{number}", [NewEvent("n", {"n": n}) for n in range(2_000)])

    asyncio.run(fill_well())
    with running(data, "--backup-every", "1s", "--backup-folder", str(folder)) as gateway:
        wait_until(lambda: any(name.startswith(".") for name in backups_in(folder)), pause=0.002)
        os.kill(gateway.process.pid, how)
        code = gateway.process.wait(PATIENCE)
        assert code == (0 if how == signal.SIGTERM else -how)
        wait_until(lambda: not any(name.startswith(".") for name in backups_in(folder)))
    for whole in backups_in(folder):
        checked = apsw.Connection(str(folder / whole), flags=apsw.SQLITE_OPEN_READONLY)
        assert checked.execute("SELECT count(*) FROM transcript_events").fetchall() == [(20_000,)]
        checked.close()


def test_timers_are_in_the_status_and_in_the_metrics(tmp_path: Path) -> None:
    """And what a machine that went down left half written is removed, but nothing of anybody else's."""
    folder = tmp_path / "backups"
    folder.mkdir()
    for half in (".backup.part", ".backup.part-journal"):
        (folder / f".holdfast-20260101T000000.000Z{half}").write_text("half")
    for other in (".somebody-elses.part", "holdfast-notes.txt"):
        (folder / other).write_text("not ours")
    options = ("--retention-max-age", "90d", "--retention-every", "1s", "--backup-every", "1s", "--backup-keep", "2")
    with running(tmp_path, *options) as gateway, client_of(gateway) as client:
        wait_until(lambda: all(each["lastSuccess"] for each in client.get("/api/status").json()["timers"]))
        retention, backup = client.get("/api/status").json()["timers"]
        assert (retention["name"], retention["everyMs"], backup["name"]) == ("retention", 1_000, "backup")
        assert (backup["failures"], backup["failure"], backup["runs"] >= 1) == (0, None, True)
        found = parsed(client.get("/metrics"))
        for name in ("retention", "backup"):
            assert figure(found, "holdfast_timer_last_success_timestamp_seconds", timer=name) > 1.7e9
            assert figure(found, "holdfast_timer_runs_total", timer=name) >= 1
            assert figure(found, "holdfast_timer_failures_total", timer=name) == 0
        said = [line["message"] for line in client.get("/api/logs").json()["lines"]]
        assert {"backup was done", "retention was done"} <= set(said)
        assert gateway.stop() == (0, "")
    names = set(backups_in(folder))
    assert {".somebody-elses.part", "holdfast-notes.txt"} <= names
    assert len([name for name in names if name.endswith("Z.backup")]) in {1, 2}
    assert len(names) <= 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"retention": Policy(max_sessions=0)},
        {"retention": Policy(max_age_ms=0)},
        {"retention_every_ms": 10},
        {"backup_every_ms": 999},
        {"backup_keep": 0},
        {"purge_after_ms": 0},
        {"backup_folder": Path("copies")},
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Timers(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        ("--retention-max-age", "soon"),
        ("--retention-max-bytes", "10 apples"),
        ("--retention-max-sessions", "0"),
        ("--backup-every", "0s"),
        ("--purge-after", "0s"),
        ("--backup-folder", "copies"),
    ],
    ids=" ".join,
)
def test_the_command_line_refuses_them_too(tmp_path: Path, wrong: tuple[str, str]) -> None:
    from click.testing import CliRunner

    from holdfast.cli import main

    result = CliRunner().invoke(main, ["serve", "--port", "0", "--data", str(tmp_path / "data"), *wrong])
    assert result.exit_code == 2, result.output
    assert not (tmp_path / "data").exists()


def timer(client: httpx2.Client) -> dict[str, Any]:
    (found,) = client.get("/api/status").json()["timers"]
    return dict(found)


def client_of(gateway: Running) -> httpx2.Client:
    return web_client(base_url=gateway.url)
