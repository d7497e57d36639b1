"""The question whether a tool may do something: what is shown, which answers count, and what `always` writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.chat.permission_question import PermissionDialog, rule_for
from holdfast.chat.tool_words import exactly, in_short
from holdfast.runtime.permissions import PermissionQuestion, PermissionRule, RuleTrust, decide, load_rules

NEED = {"bash": "danger-full-access", "write": "workspace-write", "edit": "workspace-write"}


def question(tool: str, **arguments: Any) -> PermissionQuestion:
    return PermissionQuestion(tool, arguments, NEED.get(tool, "danger-full-access"), "the mode is prompt")


def trust_in(folder: Path) -> RuleTrust:
    """What the user of these tests has said of a folder."""
    return RuleTrust(folder.parent / f"{folder.name}-trusted.json", folder)


class Person:
    """Answers in turn, and remembers what was shown."""

    def __init__(self, *answers: str) -> None:
        self.shown: list[str] = []
        self._answers = list(answers)

    async def answer(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)

    async def asked(self, asked: PermissionQuestion, folder: Path, mode: str = "prompt") -> bool:
        return await PermissionDialog(folder, mode, trust_in(folder), self.shown.append, self.answer).ask(asked)


@pytest.fixture(autouse=True)
def _a_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize(
    ("answers", "granted"),
    [
        (["y"], True),
        (["YES"], True),
        (["n"], False),
        (["what?", "", "yes"], True),
        ([], False),
        (["nope", "no"], False),
    ],
)
async def test_only_a_yes_is_a_yes(answers: list[str], granted: bool, tmp_path: Path) -> None:
    assert await Person(*answers).asked(question("bash", command="ls"), tmp_path) is granted
    assert not (tmp_path / ".holdfast").exists()


async def test_always_writes_the_narrowest_rule_and_says_it_before(tmp_path: Path) -> None:
    person = Person("always")
    assert await person.asked(question("bash", command="make test"), tmp_path)
    assert "allow bash for every command with 'make test' in it, whatever else is in it" in " ".join(
        " ".join(person.shown).split()
    )
    rules = json.loads((tmp_path / ".holdfast/permission-rules.json").read_text())
    assert rules == {"allow": [{"tool": "bash", "contains": "make test"}]}
    found = decide(
        "bash",
        {"command": "make test"},
        need=NEED["bash"],
        mode="prompt",
        rules=load_rules(tmp_path),
        workspace=tmp_path,
    )
    assert found.outcome == "allow"
    assert trust_in(tmp_path).strange_rules() is None


async def test_the_question_says_which_other_files_always_would_allow(tmp_path: Path) -> None:
    (tmp_path / "data.txt").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").touch()
    (tmp_path / "b.txt").touch()
    person = Person("no")
    await person.asked(question("write", file_path="a.txt", content="x"), tmp_path)
    shown = " ".join(" ".join(person.shown).split())
    assert "allow write for every path with 'a.txt' in it; here also data.txt, sub/a.txt" in shown


async def test_always_is_not_offered_where_the_rules_are_not_trusted(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    rules = tmp_path / ".holdfast/permission-rules.json"
    rules.write_text('{"allow":[{"tool":"bash","contains":"make"}]}')
    person = Person("always", "yes")
    assert await person.asked(question("bash", command="ls"), tmp_path)
    assert person.shown[-1] == "yes / no? "
    assert rules.read_text() == '{"allow":[{"tool":"bash","contains":"make"}]}'


async def test_always_is_not_offered_where_a_rule_a_rule_asks_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    rules = tmp_path / ".holdfast/permission-rules.json"
    rules.write_text('{"ask":[{"tool":"bash"}]}')
    person = Person("always", "a", "yes")
    assert await person.asked(question("bash", command="ls"), tmp_path)
    assert person.shown[-1] == "yes / no? "
    assert rules.read_text() == '{"ask":[{"tool":"bash"}]}'


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        (question("write", file_path="./a.txt", content="x"), PermissionRule("write", path_contains="a.txt")),
        (question("bash", command=" ls "), PermissionRule("bash", contains=" ls ")),
        (question("bash", command="  "), PermissionRule("bash")),
        (question("deploy", where="here"), PermissionRule("deploy", contains="here")),
        (
            question("fetch", url="https://a.example", body="x" * 99),
            PermissionRule("fetch", contains="https://a.example"),
        ),
        (question("deploy", count=3), PermissionRule("deploy")),
    ],
)
def test_the_rule_is_about_the_tool_and_its_file_or_command(
    asked: PermissionQuestion, rule: PermissionRule, tmp_path: Path
) -> None:
    assert rule_for(asked, tmp_path) == rule


def test_what_exactly_would_be_done_is_shown_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe")

    def shown(tool: str, **arguments: Any) -> list[str]:
        return exactly(tool, arguments, tmp_path)

    assert shown("bash", command="make\nmake test") == ["$ make", "  make test"]
    assert shown("write", file_path="new.txt", content="x\n") == ["new.txt (a new file)", "+ x"]
    assert shown("write", file_path="a.txt", content="one\n2\nthree\n") == [
        "a.txt (it is there already)", "@@ -1,3 +1,3 @@", "  one", "- two", "+ 2", "  three",
    ]  # fmt: skip
    assert shown("write", file_path="a.txt", content="one\ntwo\nthree\n")[1:] == ["  no line changes"]
    assert shown("write", file_path="b.bin", content="x")[0] == "b.bin (what is there cannot be compared)"
    assert shown("edit", file_path="a.txt", old_string="one", new_string="1\n1") == ["a.txt", "- one", "+ 1", "+ 1"]
    assert shown("deploy", where={"to": "here"}) == ['where: {"to": "here"}']
    assert shown("deploy") == ["(nothing)"]


async def test_every_character_is_shown_and_none_drives_the_terminal(tmp_path: Path) -> None:
    person = Person("no")
    await person.asked(question("bash", command="echo \x1b[2K\r safe  ; rm -rf \u202e x"), tmp_path)
    shown = "\n".join(person.shown)
    assert "$ echo \\x1b[2K\\r safe  ; rm -rf \\u202e x" in shown
    assert all(char.isprintable() or char == "\n" for char in shown)


async def test_a_long_one_is_shown_in_full_on_demand(tmp_path: Path) -> None:
    person = Person("view", "no")
    await person.asked(question("write", file_path="a", content="\n".join(f"line {n}" for n in range(100))), tmp_path)
    first = person.shown.index("yes / no / always / view? ")
    assert "line 99" not in "\n".join(person.shown[:first])
    assert any("and 71 more lines" in line for line in person.shown[:first])
    assert "    + line 99" in person.shown[first:]


def test_in_short_a_call_is_its_most_telling_argument() -> None:
    assert in_short({"content": "x" * 500, "file_path": "a.txt"}) == "a.txt"
    assert in_short({}) == ""
    assert len(in_short({"command": "x" * 500})) == 201
