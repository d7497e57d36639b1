"""Definitions of done: kept in files of their own, found again by their task, and checked."""

from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.runtime.workflow.definition_of_done import (
    FOLDER,
    STATUSES,
    DefinitionOfDone,
    load_definition,
    open_definition,
    remove_definitions,
)
from holdfast.runtime.workflow.verification import check, commands_for, report

TASK = "Do it – all of it.\n"


def test_one_that_is_not_finished_is_resumed(tmp_path: Path) -> None:
    first, there = open_definition(tmp_path, TASK, "s1")
    assert (there, first.definition.task_statement, first.definition.status) == (False, TASK, "draft")
    first.definition.touch("a.txt")
    first.definition.touch("a.txt")
    first.save()
    again, there = open_definition(tmp_path, TASK, "s2")
    assert (there, again.path, again.definition.touched_files) == (True, first.path, ["a.txt"])
    other, there = open_definition(tmp_path, TASK.strip())
    assert (there, other.path == first.path) == (False, False)


@pytest.mark.parametrize("status", STATUSES)
def test_one_that_is_finished_is_not(tmp_path: Path, status: str) -> None:
    first, _ = open_definition(tmp_path, TASK)
    first.definition.status = status
    first.save()
    assert open_definition(tmp_path, TASK)[1] is (status not in {"done", "failed"})


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"{}", b'{"task_statement": 1}', b'{"task_statement":"x","status":"?"}']
)
def test_one_that_cannot_be_read_is_left_where_it_is(tmp_path: Path, raw: bytes) -> None:
    first, _ = open_definition(tmp_path, TASK)
    first.path.write_bytes(raw)
    assert load_definition(first.path) is None
    assert open_definition(tmp_path, TASK)[1] is False
    assert first.path.read_bytes() == raw


def test_a_status_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInput):
        DefinitionOfDone(task_statement="x", status="almost")


@pytest.mark.parametrize(
    ("name", "content", "passed", "output"),
    [
        ("a.txt", "x", [True], ""),
        ("b.txt", None, [False], "b.txt is not there"),
        ("c.py", "x = 1\n", [True, True], ""),
        ("d.py", "x = = 1\n", [True, False], "d.py:1: SyntaxError: invalid syntax"),
        ("e.py", "x = '\\d'\nreturn\n", [True, False], "e.py:2: SyntaxError: 'return' outside function"),
        ("with space.py", "x = 1\n", [True, True], ""),
        ("-n.py", "x = 1\n", [True, True], ""),
    ],
)
def test_files_are_checked(tmp_path: Path, name: str, content: str | None, passed: list[bool], output: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    found = [check(tmp_path, command) for command in commands_for([name])]
    assert [each["passed"] for each in found] == passed
    assert [each["exit_code"] for each in found] == [0 if ok else 1 for ok in passed]
    assert found[-1]["output"] == output


def test_a_check_never_leaves_the_workspace_nor_runs_a_command(tmp_path: Path) -> None:
    (tmp_path / "out.py").write_text("x = 1\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link.py").symlink_to("../out.py")
    for command in (
        "test -f ../out.py",
        "test -f link.py",
        "touch here",
        "",
        "python -m py_compile link.py",
        "test",
        "'",
    ):
        assert check(tmp_path / "root", command)["passed"] is False
    assert [entry.name for entry in (tmp_path / "root").iterdir()] == ["link.py"]


def test_the_report_has_a_line_for_each_check() -> None:
    evidence = [
        {"command": "test -f a", "passed": True, "exit_code": 0, "output": ""},
        {"command": "test -f b", "passed": False, "exit_code": 1, "output": "b is not there\nmore"},
    ]
    assert report(evidence) == "Verification:\n- PASS `test -f a`\n- FAIL `test -f b`: b is not there"
    assert report([]).startswith("Verification:\n- SKIP")


def test_the_definitions_of_a_session_go_with_it(tmp_path: Path) -> None:
    for task, session_id in (("one", "a"), ("two", "a"), ("one of another", "b")):
        open_definition(tmp_path, task, session_id)
    (tmp_path / FOLDER / "damaged.json").write_text("{")
    remove_definitions(tmp_path, "a")
    left = sorted(path.name for path in (tmp_path / FOLDER).iterdir())
    assert len(left) == 2
    assert load_definition(tmp_path / FOLDER / left[0]) is not None
    remove_definitions(tmp_path / "nowhere", "a")
