"""The spool on disk: bounded, ordered, one program's at a time, and readable whatever happened to its last line."""

import errno
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.client.gate import Gate, let_through, problem
from tests.client.looking import numbers, spools
from tests.gateway.process import Running
from tests.support.disks import fill, small_disk
from tests.support.eventually import wait_until

from holdfast.client import EntriesRefused, HookAgentBlocking, SpoolFull
from holdfast.client import spool as module
from holdfast.client.refusals import Refusals
from holdfast.client.segments import POSITION, measure
from holdfast.client.spool import HEIR, Spool, inherit, is_dead
from holdfast.core import SystemClock

NOWHERE = "http://127.0.0.1:1"


def lines(spool: Spool, most: int = 10_000) -> list[bytes]:
    """What is left, a peek at a time, settled on the way."""
    found: list[bytes] = []
    while peeked := spool.peek(most):
        found += [line.raw for line in peeked]
        spool.settle(peeked)
    return found


def line(n: int) -> bytes:
    return b"%06d%s\n" % (n, b"." * 1000)


def test_lines_come_back_in_order_across_segments(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "s~1")
    for n in range(5000):
        spool.append(line(n))
        spool.renew()
    assert len(list(spool.path.glob("*.jsonl"))) > 3
    assert spool.left == (5000, 5000 * 1008)
    assert [raw[:6] for raw in lines(spool, 700)] == [b"%06d" % n for n in range(5000)]
    assert (len(list(spool.path.glob("*.jsonl"))), spool.left) == (1, (0, 0))
    spool.append(b"one more\n")
    assert lines(spool) == [b"one more"]
    spool.close()
    assert not spool.path.exists()


def test_a_line_longer_than_a_segment_is_whole(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "s~1")
    long = [bytes([65 + n]) * (3_000_000 * n + 10) for n in range(3)]
    for each in long:
        spool.append(each + b"\n")
    assert lines(spool, 1) == long
    spool.close()


def test_an_heir_goes_on_where_the_dead_one_was(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "s~1")
    for n in range(3000):
        spool.append(line(n))
    for _ in range(2):
        spool.settle(spool.peek(500))
    assert not is_dead(spool.path)
    spool.close()
    assert is_dead(spool.path)
    heir = inherit(spool.path)
    assert heir is not None
    assert heir.left == measure(spool.path) == (2000, 2000 * 1008)
    with pytest.raises(BlockingIOError):
        inherit(spool.path)
    heir.settle(heir.peek(1))
    heir.close()
    second = inherit(spool.path)
    assert second is not None
    assert [raw[:6] for raw in lines(second)] == [b"%06d" % n for n in range(1001, 3000)]
    second.close()
    assert not spool.path.exists()
    assert inherit(spool.path) is None


@pytest.mark.parametrize("torn", [b"", b"{", b'{"key":"x","body":{"half', b"\0" * 5000])
def test_half_a_line_at_the_end_was_never_accepted(tmp_path: Path, torn: bytes) -> None:
    spool = Spool.create(tmp_path, "s~1")
    for n in range(3):
        spool.append(line(n))
    spool.close()
    with next(spool.path.glob("*.jsonl")).open("ab") as segment:
        segment.write(torn)
    heir = inherit(spool.path)
    assert heir is not None
    assert [raw[:6] for raw in lines(heir)] == [b"000000", b"000001", b"000002"]
    heir.close()
    assert not spool.path.exists()


@pytest.mark.parametrize("position", [b"", b"junk", b"1 2 3", b"\0" * 30, b"00000000 00000000000000000000\n"])
def test_a_position_that_cannot_be_read_means_all_over_again(tmp_path: Path, position: bytes) -> None:
    spool = Spool.create(tmp_path, "s~1")
    for n in range(3):
        spool.append(line(n))
    spool.settle(spool.peek(1))
    spool.close()
    (spool.path / POSITION).write_bytes(position)
    heir = inherit(spool.path)
    assert heir is not None
    assert len(lines(heir)) == 3
    heir.close()


def test_two_programs_have_two_spools(gateway: Running, spool: Path) -> None:
    with HookAgentBlocking("shared", url=NOWHERE) as one, HookAgentBlocking("shared", url=NOWHERE) as two:
        one.log_action("step", {"n": 1})
        two.log_action("step", {"n": 2})
        assert len(spools(spool)) == 2
        with HookAgentBlocking("shared", url=gateway.url) as three:
            three.log_action("step", {"n": 3})
            three.flush()
            assert numbers(gateway.url, "shared") == [3]  # what belongs to the living is theirs to deliver
    with HookAgentBlocking("shared", url=gateway.url):
        assert sorted(numbers(gateway.url, "shared")) == [1, 2, 3]


def test_nobody_else_can_read_a_spool(spool: Path) -> None:
    with HookAgentBlocking("private", url=NOWHERE) as agent:
        agent.log_action("secret")
        (found,) = spools(spool)
        assert found.stat().st_mode & 0o077 == 0
        assert spool.stat().st_mode & 0o077 == 0
        assert [path for path in found.iterdir() if path.stat().st_mode & 0o077] == []


def test_a_full_spool_takes_no_more_and_keeps_what_it_has(gateway: Running, spool: Path) -> None:
    with HookAgentBlocking("full", url=NOWHERE, spool_bytes=20_000) as agent:
        kept = 0
        with pytest.raises(SpoolFull) as full:
            for n in range(1000):
                agent.log_action("step", {"n": n})
                kept = n + 1
        assert full.value.details["spooled"] == kept > 50
        assert sum(path.stat().st_size for path in spool.rglob("*.jsonl")) <= 20_000
    with HookAgentBlocking("full", url=NOWHERE, spool_bytes=20_000) as again, pytest.raises(SpoolFull):
        for n in range(5):  # what the dead have left counts, or every life would add as much
            again.log_action("step", {"n": kept + n})
    with HookAgentBlocking("full", url=gateway.url, spool_bytes=20_000) as last:
        last.log_action("step", {"n": kept})
        last.flush()
    assert numbers(gateway.url, "full")[:kept] == list(range(kept))


def size_of(path: Path) -> int:
    """The bytes of a segment; none, if it was settled meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def test_a_spool_that_is_emptied_takes_any_number(gateway: Running, spool: Path) -> None:
    most = 0
    with HookAgentBlocking("emptied", url=gateway.url, spool_bytes=3_000_000) as agent:
        for n in range(60):
            agent.log_action("step", {"n": n, "text": "x" * 100_000})
            if n % 10 == 9:
                agent.flush()
            most = max(most, sum(size_of(path) for path in spool.rglob("*.jsonl")))
    assert numbers(gateway.url, "emptied") == list(range(60))
    assert most <= 3_000_000 + module.SEGMENT_BYTES


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Writes beyond that size fail, the last of them half done, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_write_that_fails_half_way_harms_no_other(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "s~1")
    spool.append(line(0))
    for said in (f"took {1500 - 1008} bytes of 1008", os.strerror(errno.EFBIG)):
        with file_size_limit(1500), pytest.raises(SpoolFull, match=said):
            spool.append(line(1))
    (segment,) = tmp_path.rglob("0*.jsonl")
    assert segment.stat().st_size == 1500
    end = spool.end
    assert [raw[:6] for raw in lines(spool)] == [b"000000"]
    assert spool.reached >= end, "what was never accepted is not waited for"
    spool.append(line(2))
    assert [raw[:6] for raw in lines(spool)] == [b"000002"]
    spool.close()
    assert not spool.path.exists()


def test_a_refusal_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    refusals = Refusals(tmp_path, SystemClock())
    refusals.add(b'{"n":0}', {"code": "x"})
    before = refusals.path.read_bytes()
    with file_size_limit(len(before) + 20), pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        refusals.add(b'{"n":1}', {"code": "x"})
    assert refusals.path.read_bytes() == before
    refusals.add(b'{"n":null}', {"code": "x"})
    refusals.add(b"torn \xff", {"code": "x"})
    found = [json.loads(each)["entry"] for each in refusals.path.read_text().splitlines()]
    assert found == [{"n": 0}, {"n": None}, "torn \\xff"]
    assert refusals.size == refusals.path.stat().st_size


def test_after_a_full_disk_it_goes_on_and_frees_its_segments(tmp_path: Path, gate: Gate) -> None:
    gate.decide = lambda _seen: problem(503, "busy")
    with small_disk(tmp_path, 4) as disk, HookAgentBlocking("disk", url=gate.url, spool=disk / "spool") as agent:
        kept = []
        for n in range(100):
            try:
                agent.log_action("step", {"n": n, "text": "x" * 100_000})
                kept.append(n)
            except SpoolFull:
                pass
        assert 10 < len(kept) < 60
        assert os.statvfs(disk).f_bavail < 100
        gate.decide = let_through
        agent.flush(30)
        assert (numbers(gate.url, "disk"), agent.spooled, agent.refused) == (kept, 0, 0)
        wait_until(lambda: os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize > 3_500_000)
        agent.log_action("step", {"n": 100, "text": "x" * 100_000})
        agent.flush(30)
        assert numbers(gate.url, "disk") == [*kept, 100]


def test_a_spool_on_a_disk_without_a_byte_settles_what_is_delivered(tmp_path: Path) -> None:
    with small_disk(tmp_path, 2) as disk:
        spool = Spool.create(disk, "s~1")
        for n in range(1500):
            spool.append(line(n))
            spool.renew()
        fill(disk / "ballast", 0)
        settled = 0
        while settled < 1100:
            done = spool.peek(100)
            spool.settle(done)
            settled += len(done)
        assert len(list(spool.path.glob("*.jsonl"))) == 1
        spool.forget()
        heir = inherit(spool.path)
        assert heir is not None
        assert heir.peek(1)[0].raw[:6] == b"%06d" % settled
        heir.close()


def test_what_waits_for_a_service_that_is_away_is_on_the_disk_itself(
    gateway: Running, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def watched(file: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{file}").readlink()))
        fsync(file)

    monkeypatch.setattr(os, "fsync", watched)
    with HookAgentBlocking("well", url=gateway.url) as agent:
        agent.log_action("step")
        agent.flush()
        assert synced == []  # it would only cost time
    with HookAgentBlocking("away", url=NOWHERE) as agent:
        agent.log_action("step")
        (folder,) = spools(spool)
        wait_until(lambda: {str(folder), str(folder / "00000001.jsonl")} <= set(synced))
    grown = Spool.create(spool, "grown~1")
    for size in (3, 2):
        for _ in range(size):
            grown.append(b"x" * module.SEGMENT_BYTES + b"\n")
            grown.renew()
        synced.clear()
        grown.sync()
        assert len(set(synced)) >= size + 1
    grown.close()


def test_files_that_somebody_removed_are_missed_aloud(gate: Gate, spool: Path) -> None:
    gate.decide = lambda _seen: problem(503, "busy")
    with HookAgentBlocking("robbed", url=gate.url) as agent:
        agent.log_action("step")
        wait_until(lambda: agent.trouble is not None)
        for path in spool.rglob("*.jsonl"):
            path.unlink()
        with pytest.raises(EntriesRefused) as said:
            agent.flush()
        assert said.value.details["problem"]["code"] == "spool_removed"
        assert (agent.refused, agent.spooled) == (1, 0)


def test_a_damaged_line_is_set_aside_and_the_rest_goes_on(gateway: Running, spool: Path) -> None:
    with HookAgentBlocking("damaged", url=NOWHERE) as dead:
        for n in range(3):
            dead.log_action("step", {"n": n})
    (segment,) = spool.rglob("0*.jsonl")
    first, second, third = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(first + b"\0" * (len(second) - 1) + b"\n" + third)
    with HookAgentBlocking("damaged", url=gateway.url) as agent:
        agent.flush()
        assert agent.refused == 1
    assert numbers(gateway.url, "damaged") == [0, 2]
    (said,) = (spool / "refused.jsonl").read_text().splitlines()
    assert json.loads(said)["problem"]["code"] == "unreadable"


def test_an_empty_spool_of_a_dead_program_is_cleared_away(gateway: Running, spool: Path) -> None:
    for number, kind in enumerate(("idle", "half-removed", "tenants")):
        made = Spool.create(spool, f"{kind}~{number}")
        if kind == "half-removed":
            (made.path / module.OWNER).unlink()
        made.forget()
    (spool / "unrelated").mkdir()
    with HookAgentBlocking("clears", url=gateway.url):
        wait_until(lambda: len(spools(spool)) == 2)
    assert [path.name for path in spools(spool)] == ["unrelated"]


def test_a_forked_child_does_not_keep_the_spool_of_its_parent(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "s~1")
    spool.append(b"x\n")
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b"!")
        os.read(go[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        assert not is_dead(spool.path)
        spool.close()
        assert is_dead(spool.path)
    finally:
        os.write(go[1], b"!")
        os.waitpid(child, 0)
        for end in (*ready, *go):
            os.close(end)


def test_what_was_spooled_with_another_token_is_not_sent_with_this_one(
    gateway: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("HOLDFAST_SPOOL")
    gone = f"{gateway.url}/nowhere"
    with HookAgentBlocking("secretive", url=gone, token="hf_one") as dead:
        dead.log_action("step", {"n": 1})
        theirs = dead.spool
        assert theirs.is_relative_to(tmp_path / "state")
        assert "hf_one" not in "".join(str(path) for path in theirs.rglob("*"))
    with HookAgentBlocking("secretive", url=gateway.url, token="hf_two") as agent:
        agent.log_action("step", {"n": 2})
        agent.flush()
        ours = agent.spool
        assert ours != theirs
        assert numbers(gateway.url, "secretive") == [2]
    assert f"1 entries of programs with another address or token wait in {theirs}" in caplog.text
    for path in spools(theirs):  # as the log says
        path.rename(ours / path.name)
    with HookAgentBlocking("secretive", url=gateway.url, token="hf_two"):
        assert numbers(gateway.url, "secretive") == [2, 1]


def test_a_lock_is_seen_by_other_processes(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "s~1")
    spool.append(b"x\n")
    look = "import sys, pathlib, holdfast.client.spool as s; print(s.is_dead(pathlib.Path(sys.argv[1])))"

    def seen_from_outside() -> str:
        done = subprocess.run([sys.executable, "-c", look, spool.path], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert seen_from_outside() == "False"
    spool.forget()
    assert seen_from_outside() == "True"
    lock = os.open(spool.path / HEIR, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        inherit(spool.path)
    os.close(lock)


def test_actions_and_refusals_share_the_bound(gate: Gate, spool: Path) -> None:
    gate.decide = lambda _seen: problem(410, "session_gone")
    with HookAgentBlocking("gone", url=gate.url, spool_bytes=20_000) as agent, pytest.raises(SpoolFull) as full:
        for n in range(200):
            agent.log_action("step", {"n": n, "text": "x" * 100})
            wait_until(lambda: agent.spooled == 0)
    assert "refused.jsonl" in (full.value.hint or "")
    assert (spool / "refused.jsonl").stat().st_size < 22_000
