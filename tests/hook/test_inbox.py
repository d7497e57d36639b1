"""The inbox: what many short processes leave comes out in order, each once, whoever is killed where."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from holdfast.client.segments import name, numbers
from holdfast.hook import inbox
from holdfast.hook.inbox import InboxReader

BIG = b"x" * 300_000


def all_of(reader: InboxReader, most: int = 7) -> list[bytes]:
    """Every record, settled a few at a time."""
    found = []
    while lines := reader.peek(most):
        found += [line.raw for line in lines]
        reader.settle(lines[-1])
    return found


def test_records_come_out_in_order_and_are_gone_when_settled(tmp_path: Path) -> None:
    said = [b"%d" % n + BIG for n in range(10)]
    for each in said:
        inbox.append(tmp_path, each)
    assert len(numbers(tmp_path)) > 1 and not inbox.is_empty(tmp_path)
    reader = InboxReader(tmp_path)
    assert all_of(reader) == said
    assert inbox.is_empty(tmp_path)
    reader.tidy()
    assert sum((tmp_path / name(each)).stat().st_size for each in numbers(tmp_path)) == 0
    inbox.append(tmp_path, b"after")
    assert all_of(InboxReader(tmp_path)) == [b"after"]


def test_who_reads_again_after_a_kill_begins_where_it_had_settled(tmp_path: Path) -> None:
    for n in range(4):
        inbox.append(tmp_path, b"%d" % n)
    first = InboxReader(tmp_path)
    first.settle(first.peek(2)[-1])
    assert [line.raw for line in first.peek(9)] == [b"2", b"3"]
    assert all_of(InboxReader(tmp_path)) == [b"2", b"3"]


def test_nothing_is_lost_or_doubled_while_many_append_and_one_settles(tmp_path: Path) -> None:
    def append(writer: int) -> None:
        for n in range(60):
            inbox.append(tmp_path, b"%d-%d" % (writer, n) + b"y" * 20_000)

    writers = [threading.Thread(target=append, args=(each,)) for each in range(5)]
    for each in writers:
        each.start()
    found: list[bytes] = []
    reader = InboxReader(tmp_path)
    while any(each.is_alive() for each in writers) or not inbox.is_empty(tmp_path):
        found += all_of(reader)
        reader.tidy()
    places = [each.rstrip(b"y").split(b"-") for each in found]
    assert len(places) == 300
    for writer in range(5):
        assert [int(n) for who, n in places if int(who) == writer] == list(range(60))


def test_half_a_record_damages_no_other(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"one")
    with (tmp_path / name(1)).open("ab") as file:
        file.write(b'\t{"cut off')
    inbox.append(tmp_path, b"two")
    assert all_of(InboxReader(tmp_path)) == [b"one", b"two"]


def test_a_full_inbox_refuses_and_keeps_what_it_has(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"kept", most=20)
    with pytest.raises(OSError, match="full"):
        inbox.append(tmp_path, b"x" * 20, most=20)
    assert all_of(InboxReader(tmp_path)) == [b"kept"]


def test_a_stopped_courier_that_has_shut_the_door_holds_nobody_up_for_long(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"one")
    door = os.open(tmp_path / inbox.DOOR, os.O_RDWR)
    try:
        fcntl.flock(door, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            inbox.append(tmp_path, b"two")
    finally:
        os.close(door)


def test_what_comes_while_the_courier_tidies_up_stays(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"one")
    reader = InboxReader(tmp_path)
    reader.settle(reader.peek(1)[-1])
    assert reader.peek(1) == []
    inbox.append(tmp_path, b"two")
    reader.tidy()
    assert [line.raw for line in reader.peek(1)] == [b"two"]


def test_a_segment_that_somebody_has_chosen_is_not_removed(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"one")
    reader = InboxReader(tmp_path)
    reader.settle(reader.peek(1)[-1])
    door = os.open(tmp_path / inbox.DOOR, os.O_RDWR)
    try:
        fcntl.flock(door, fcntl.LOCK_SH)  # as one does that is about to write
        reader.tidy()
        with (tmp_path / name(1)).open("ab") as chosen:
            chosen.write(b"\ttwo\n")
    finally:
        os.close(door)
    reader.tidy()
    assert all_of(reader) == [b"two"]


def test_a_removed_segment_does_not_hide_what_comes_after_it(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"one")
    reader = InboxReader(tmp_path)
    reader.settle(reader.peek(1)[-1])
    reader.tidy()
    for number in numbers(tmp_path):
        (tmp_path / name(number)).unlink()
    inbox.append(tmp_path, b"two")
    assert all_of(InboxReader(tmp_path)) == [b"two"]


def test_there_is_one_courier(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"one")
    assert not inbox.has_courier(tmp_path)
    with inbox.only_courier(tmp_path) as first, inbox.only_courier(tmp_path) as second:
        assert (first, second, inbox.courier_of(tmp_path)) == (True, False, os.getpid())
    assert inbox.courier_of(tmp_path) is None


def test_who_only_looks_keeps_no_courier_from_beginning(tmp_path: Path) -> None:
    inbox.append(tmp_path, b"one")
    (tmp_path / inbox.COURIER).touch()
    look = os.open(tmp_path / inbox.COURIER, os.O_RDWR)
    fcntl.flock(look, fcntl.LOCK_SH)
    timer = threading.Timer(0.05, os.close, [look])
    timer.start()
    with inbox.only_courier(tmp_path) as only:
        assert only
    timer.join()


def test_each_service_and_token_has_an_inbox_of_its_own(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    found = {
        inbox.folder_of(environ | more)
        for more in (
            {},
            {"SESSION_SERVICE_URL": "http://localhost:9001"},
            {"HOLDFAST_TOKEN": "hf_a"},
            {"HOLDFAST_SPOOL": str(tmp_path / "mine")},
        )
    }
    assert len(found) == 4
