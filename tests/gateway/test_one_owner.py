"""A SQLite store has one server: neither a second name nor a deleted lock file lets another in, and one that was
replaced acknowledges nothing more."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import httpx2
import pytest
from tests.cli.command import answer, run
from tests.gateway.process import PATIENCE, Running, running
from tests.support.clocks import SetClock
from tests.support.processes import ended, holdfast
from tests.support.web import LOCAL

from holdfast.core import SystemClock
from holdfast.core.store_file import Claim
from holdfast.store.sqlite.owner import Owner

OWNER = "SELECT number, pid, url, beat_at FROM owner"


def refused(data: Path) -> dict[str, Any]:
    """The problem of a gateway that is not let in."""
    done = ended("serve", "--json", "--port", "0", "--data", str(data))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    problem: dict[str, Any] = json.loads(done.stdout)
    return problem


def append(gateway: Running, session: str = "s") -> httpx2.Response:
    return httpx2.post(f"{gateway.url}/api/actions/{session}", json={"type": "note"}, **LOCAL)


def change_owner(path: Path, sql: str) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.set_busy_timeout(10_000)
        connection.execute(f"UPDATE owner SET {sql}")


def owner(path: Path) -> tuple[Any, ...]:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        found: tuple[Any, ...] = connection.execute(OWNER).fetchall()[0]
        return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def gateway(data: Path) -> Iterator[Running]:
    with running(data) as started:
        assert append(started).status_code == 201
        yield started


def names(problem: dict[str, Any], gateway: Running) -> bool:
    return (problem["code"], problem["pid"], problem["url"]) == ("store_in_use", gateway.process.pid, gateway.url)


def test_a_hard_link_lets_nobody_in(tmp_path: Path, data: Path, gateway: Running) -> None:
    other = tmp_path / "other"
    other.mkdir()
    os.link(data / "holdfast.db", other / "holdfast.db")
    assert names(refused(other), gateway)
    assert append(gateway).status_code == 201
    assert answer("db", "status", data=other)["gateway"] == gateway.url
    assert run("sessions", "tag", "s", "x", data=other).exit_code == 0
    assert gateway.stop()[0] == 0
    assert answer("sessions", "verify", data=data)["ok"]


def test_a_deleted_lock_file_lets_nobody_in(data: Path, gateway: Running) -> None:
    (data / "holdfast.lock").unlink()
    assert names(refused(data), gateway)
    assert append(gateway).status_code == 201
    assert answer("db", "status", data=data)["gateway"] == gateway.url
    assert run("sessions", "tag", "s", "x", data=data).exit_code == 0
    assert answer("sessions", "show", "s", data=data)["session"]["tags"] == ["x"]


def test_a_stopped_gateway_leaves_no_owner_and_a_killed_one_is_replaced(data: Path, gateway: Running) -> None:
    first = owner(data / "holdfast.db")
    assert first[1:3] == (gateway.process.pid, gateway.url)
    assert gateway.stop()[0] == 0
    assert owner(data / "holdfast.db")[:3] == (first[0], None, None)
    with running(data, as_child=True) as second:
        second.process.kill()
        os.waitid(os.P_PID, second.process.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie, as nobody has taken its end
        with running(data) as third:
            assert append(third).status_code == 201
            assert owner(data / "holdfast.db")[:2] == (first[0] + 2, third.process.pid)


def test_one_that_was_replaced_acknowledges_nothing_more_and_says_who_has_the_store(
    data: Path, gateway: Running
) -> None:
    change_owner(data / "holdfast.db", "number = number + 1, pid = 4711, url = 'http://127.0.0.1:1'")
    late = append(gateway)
    assert (late.status_code, late.json()["code"], late.json()["pid"]) == (503, "store_taken", 4711)
    assert "the server at http://127.0.0.1:1 (pid 4711) has taken over" in late.json()["detail"]
    ready = httpx2.get(f"{gateway.url}/readyz", **LOCAL)
    assert (ready.status_code, ready.json()["code"]) == (503, "store_taken")
    seen = httpx2.get(f"{gateway.url}/api/sessions/s", **LOCAL).json()
    assert seen["metadata"]["headSeq"] == 1
    assert gateway.stop()[0] == 0
    assert owner(data / "holdfast.db")[1] == 4711, "a server that was replaced clears nobody's row"


def test_an_idle_one_notices_by_itself(data: Path, gateway: Running) -> None:
    change_owner(data / "holdfast.db", "number = number + 1")
    deadline = time.monotonic() + PATIENCE
    while httpx2.get(f"{gateway.url}/readyz", **LOCAL).status_code != 503:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_owner_that_cannot_be_seen_is_replaced_only_after_its_silence(data: Path, gateway: Running) -> None:
    """Another boot, or another container with a lock file of its own: here by a row that says so."""
    assert gateway.stop()[0] == 0
    path, now = data / "holdfast.db", int(time.time() * 1000)
    elsewhere = "pid = 7, started = 7, boot = 'another', url = 'http://10.0.0.7:9000'"
    change_owner(path, f"{elsewhere}, beat_at = {now - 14_000}")
    began = time.time()
    with running(data) as waited:
        assert time.time() * 1000 >= now + 1_000
        assert append(waited).status_code == 201
    change_owner(path, f"{elsewhere}, beat_at = {int(began * 1000) - 60_000}")
    with running(data) as at_once:
        assert append(at_once).status_code == 201


def test_one_that_cannot_be_seen_is_looked_at_until_its_silence_is_long_enough(data: Path, gateway: Running) -> None:
    assert gateway.stop()[0] == 0
    path, lock, looks = data / "holdfast.db", data / "holdfast.lock", []
    clock = SetClock(int(time.time() * 1000))
    change_owner(path, f"pid = 7, started = 7, boot = 'another', beat_at = {clock.now() - 14_500}")

    def connect() -> apsw.Connection:
        looks.append(path)
        return apsw.Connection(str(path))

    Owner(path, Claim(None, lock, lock.stat().st_ino), clock).await_turn(connect)
    assert len(looks) > 1


def test_an_owner_that_cannot_be_seen_and_says_that_it_lives_is_not_replaced(data: Path, gateway: Running) -> None:
    assert gateway.stop()[0] == 0
    path = data / "holdfast.db"
    change_owner(path, f"pid = 7, boot = 'another', url = 'http://10.0.0.7:9000', beat_at = {int(time.time() * 1000)}")
    with holdfast("serve", "--json", "--port", "0", "--data", str(data)) as process:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.3)
            change_owner(path, "beat_at = beat_at + 1")
        assert process.stdout is not None
        problem = json.loads(process.stdout.read())
    assert (process.returncode, problem["code"], problem["url"]) == (2, "store_in_use", "http://10.0.0.7:9000")


def test_of_a_container_that_was_killed_the_lock_says_that_it_is_dead(data: Path, gateway: Running) -> None:
    """Its pid means nothing here, but the kernel has let go of the lock that it held."""
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait(PATIENCE)
    change_owner(data / "holdfast.db", f"namespace = 'pid:[1]', beat_at = {int(time.time() * 1000) + 600_000}")
    with running(data) as again:
        assert append(again).status_code == 201


def test_nobody_waits_for_one_whose_lock_we_hold(data: Path, gateway: Running) -> None:
    """It is looked at once: that it cannot be seen from here, and has spoken just now, changes nothing."""
    gateway.process.kill()
    gateway.process.wait(PATIENCE)
    path, looks = data / "holdfast.db", []
    change_owner(path, f"namespace = 'pid:[1]', beat_at = {int(time.time() * 1000) + 600_000}")

    def connect() -> apsw.Connection:
        looks.append(path)
        return apsw.Connection(str(path))

    lock = data / "holdfast.lock"
    Owner(path, Claim(None, lock, lock.stat().st_ino), SystemClock()).await_turn(connect)
    assert len(looks) == 1


def test_a_look_at_the_owner_leaves_a_killed_ones_log_as_it_is(data: Path, gateway: Running) -> None:
    """Whoever closes the last connection moves the log into the file: a start after a kill would do that twice."""
    gateway.process.kill()
    gateway.process.wait(PATIENCE)
    path, lock = data / "holdfast.db", data / "holdfast.lock"
    files = [path, path.with_name("holdfast.db-wal")]
    before = [file.read_bytes() for file in files]
    assert before[1]
    claim = Claim(None, lock, lock.stat().st_ino)
    Owner(path, claim, SystemClock()).await_turn(lambda: apsw.Connection(str(path)))
    assert [file.read_bytes() for file in files] == before


def test_a_copy_has_no_owner(tmp_path: Path, data: Path, gateway: Running) -> None:
    backup, copied = tmp_path / "backup", tmp_path / "copied"
    answer("db", "backup", str(backup), data=data)
    assert owner(backup)[1:3] == (None, None)
    answer("db", "restore", str(backup), data=tmp_path / "restored")
    copied.mkdir()
    (copied / "holdfast.db").write_bytes((data / "holdfast.db").read_bytes())
    for folder in (tmp_path / "restored", copied):
        with running(folder) as beside:
            assert append(beside).status_code == 201
    assert append(gateway).status_code == 201


def test_what_a_killed_gateway_left_in_the_log_of_another_name_is_not_missed(
    tmp_path: Path, data: Path, gateway: Running
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    os.link(data / "holdfast.db", other / "holdfast.db")
    gateway.process.kill()
    gateway.process.wait(PATIENCE)
    problem = refused(other)
    assert (problem["code"], str(data) in problem["detail"]) == ("engine_refused", True)
    assert "serve it by that name" in problem["hint"]
    with running(data) as again:
        seen = httpx2.get(f"{again.url}/api/sessions/s", **LOCAL).json()
        assert seen["metadata"]["headSeq"] == 1
