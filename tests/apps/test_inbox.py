"""What comes in is on the disk once, in one place, under a name that leads nowhere else."""

import os
from pathlib import Path

import pytest
from apps.inbox import Inbox, OtherContent


def test_the_same_thing_is_kept_once_and_another_of_its_name_is_refused(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, ".json")
    assert inbox.put("m1", b"{}") is True
    assert inbox.put("m1", b"{}") is False
    inbox.move("m1", "done")
    assert inbox.put("m1", b"{}") is False
    with pytest.raises(OtherContent):
        inbox.put("m1", b"{ }")
    assert (inbox.waiting(), inbox.place_of("m1"), inbox.count("done")) == ([], "done", 1)


@pytest.mark.parametrize("name", ["../m1", "a/b", ".hidden", "", "x" * 121, "a b", "ü"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OtherContent):
        Inbox(tmp_path, ".json").put(name, b"{}")


def test_files_with_other_names_are_moved_away_and_half_written_ones_are_left(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, ".json")
    for name in ("a b.json", ".new.json", "m1.json.tmp", "m2.json"):
        (tmp_path / "inbox" / name).write_text(name)
    assert inbox.refuse_names() == ["a b"]
    assert inbox.waiting() == ["m2"]
    assert [path.read_text() for path in (tmp_path / "refused").iterdir()] == ["a b.json"]


def test_what_is_moved_onto_another_thing_of_its_name_goes_beside_it(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, ".json")
    for words in ("one", "two", "three"):
        inbox.path("inbox", "m1").write_text(words)
        inbox.move("m1", "failed")
    assert sorted(path.read_text() for path in (tmp_path / "failed").iterdir()) == ["one", "three", "two"]


def test_a_file_that_was_just_written_may_still_be_written(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, ".json")
    inbox.path("inbox", "m1").write_text("{")
    assert not inbox.settled("m1")
    os.utime(inbox.path("inbox", "m1"), (1, 1))
    assert inbox.settled("m1")
