"""The log in files: rotated by size, read by cursor with no line missed or doubled, never half a line."""

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.gateway.operations.log_files import LogFiles, LogPage


@pytest.fixture
def files(tmp_path: Path) -> Iterator[LogFiles]:
    made = LogFiles(tmp_path / "logs", max_bytes=100, keep=3)
    yield made
    made.close()


def line(number: int) -> bytes:
    return b'{"n":%06d}\n' % number


def numbers(page: LogPage) -> list[int]:
    return [int(each[5:11]) for each in page.lines]


def there(files: LogFiles) -> list[Path]:
    return sorted(path for path in files.folder.iterdir() if not path.is_symlink())


def test_files_are_rotated_by_size_and_the_oldest_go(files: LogFiles) -> None:
    for number in range(100):
        files.append(line(number))
    kept = there(files)
    assert len(kept) == 3
    assert all(0 < path.stat().st_size <= 100 for path in kept)
    assert files.path.resolve() == kept[-1]
    assert files.path.read_bytes().endswith(line(99))
    assert {oct(path.stat().st_mode & 0o777) for path in kept} == {"0o600"}
    assert oct(files.folder.stat().st_mode & 0o777) == "0o700"


def test_without_a_cursor_the_newest_lines_come_and_the_cursor_goes_on_from_there(files: LogFiles) -> None:
    for number in range(20):
        files.append(line(number))
    page = files.read(None, 10)
    assert (numbers(page), page.truncated) == (list(range(10, 20)), False)
    assert files.read(page.place.cursor, 10).lines == []
    files.append(line(20))
    assert numbers(files.read(page.place.cursor, 10)) == [20]


def test_a_log_that_is_not_there_yet_can_be_followed(files: LogFiles) -> None:
    page = files.read(None, 10)
    assert (page.lines, page.truncated, files.size()) == ([], False, 0)
    files.append(line(0))
    page = files.read(page.place.cursor, 10)
    assert (numbers(page), page.truncated) == ([0], False)


@settings(max_examples=50, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 7)), min_size=1, max_size=30))
def test_whoever_keeps_up_misses_and_repeats_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
) -> None:
    """Lines come and are read in any rhythm, over many rotations, with restarts in between."""
    files = LogFiles(tmp_path_factory.mktemp("logs"), max_bytes=60, keep=50)
    cursor = files.read(None, 1).place.cursor
    written, seen = 0, []
    for wrote, limit in steps:
        for _ in range(wrote):
            files.append(line(written))
            written += 1
        page = files.read(cursor, limit)
        assert not page.truncated
        seen += numbers(page)
        cursor = page.place.cursor
        if wrote % 5 == 0:
            files.close()
    while page := files.read(cursor, 100):
        seen += numbers(page)
        cursor = page.place.cursor
        if not page.lines:
            break
    files.close()
    assert seen == list(range(written))


def test_whoever_is_too_late_is_told_and_goes_on_with_the_oldest(files: LogFiles) -> None:
    files.append(line(0))
    early = files.read(None, 10).place.cursor
    for number in range(1, 100):
        files.append(line(number))
    page = files.read(early, 1000)
    assert page.truncated
    assert numbers(page) == list(range(numbers(page)[0], 100))
    assert not files.read(page.place.cursor, 10).truncated


def test_a_reader_beside_a_writer_sees_every_line_once(tmp_path: Path) -> None:
    files = LogFiles(tmp_path, max_bytes=2_000, keep=1_000)
    cursor = files.read(None, 1).place.cursor

    def write() -> None:
        for number in range(5_000):
            files.append(line(number))

    writer = threading.Thread(target=write)
    writer.start()
    seen: list[int] = []
    while len(seen) < 5_000:
        done = not writer.is_alive()
        page = files.read(cursor, 77)
        assert not page.truncated
        seen += numbers(page)
        cursor = page.place.cursor
        assert page.lines or not done, "lines are missing"
    files.close()
    assert seen == list(range(5_000))


def test_a_torn_last_line_is_ended_at_the_next_start(files: LogFiles) -> None:
    files.append(line(0))
    files.close()
    with files.path.open("ab") as file:
        file.write(b'{"n":00')
    page = files.read(None, 10)
    assert numbers(page) == [0]
    files.append(line(1))
    assert files.read(page.place.cursor, 10).lines == [b'{"n":00', line(1).rstrip()]


def test_a_write_that_fails_half_way_leaves_no_half_line(files: LogFiles) -> None:
    """The system lets the file grow by five bytes and no more."""
    files.append(line(0))
    before = files.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 5, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            files.append(line(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files.path.read_bytes() == before
    files.append(line(2))
    assert numbers(files.read(None, 10)) == [0, 2]


def test_a_file_that_somebody_removed_or_cut_is_survived(files: LogFiles) -> None:
    files.append(line(0) + line(1))
    cursor = files.read(None, 10).place.cursor
    files.path.resolve().unlink()
    files.append(line(2))
    page = files.read(cursor, 10)
    assert (numbers(page), page.truncated) == ([2], True)
    files.append(line(3))
    cursor = files.read(None, 10).place.cursor
    os.truncate(files.path, 0)
    files.append(line(4))
    page = files.read(cursor, 10)
    assert (numbers(page), page.truncated) == ([4], True)


@pytest.mark.parametrize(
    "cursor", ["", "x", "1.2", "1700000000000", "1700000000000.-1", "١٧٠٠٠٠٠٠٠٠٠٠٠.1", "../../etc.1"]
)
def test_what_is_no_cursor_is_refused(files: LogFiles, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        files.read(cursor, 10)


def test_a_cursor_of_another_log_is_told_and_one_inside_a_line_shows_no_half_line(files: LogFiles) -> None:
    files.append(line(0) + line(1))
    page = files.read("9999999999999.5", 10)
    assert (numbers(page), page.truncated) == ([0, 1], True)
    inside = page.place._replace(offset=3).cursor
    page = files.read(inside, 10)
    assert (numbers(page), page.truncated) == ([1], True)


def test_an_answer_is_bounded_in_bytes(tmp_path: Path) -> None:
    files = LogFiles(tmp_path, max_bytes=10_000_000, keep=2)
    cursor = files.read(None, 1).place.cursor
    for _ in range(30):
        files.append(b'"' + b"x" * 100_000 + b'"\n')
    assert len(files.read(None, 1_000).lines) == 10
    page = files.read(cursor, 1_000)
    assert len(page.lines) == 10
    assert len(files.read(page.place.cursor, 1_000).lines) == 10
    files.close()
