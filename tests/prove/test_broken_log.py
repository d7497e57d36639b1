"""The honest control's log: what was appended is read again, and a torn last line is cut off."""

from pathlib import Path

from holdfast.prove.broken.log import LineLog


def test_what_was_appended_is_read_again(tmp_path: Path) -> None:
    LineLog(tmp_path / "log.jsonl").append({"n": 1}, {"n": 2})
    assert LineLog(tmp_path / "log.jsonl").entries == [{"n": 1}, {"n": 2}]


def test_a_torn_last_line_is_cut_off_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    LineLog(path).append({"n": 1})
    path.write_bytes(path.read_bytes() + b'{"n": 2')
    LineLog(path).append({"n": 3})
    assert LineLog(path).entries == [{"n": 1}, {"n": 3}]
