"""A command does the same to a store by itself and through a gateway, and then never opens the store's file."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import answer, fill, run
from tests.gateway.process import running
from tests.support.processes import ended

VOLATILE = {"createdAt", "deletedAt", "timestamp", "updatedAt", "eventId", "headHash", "cursor", "pid", "uptime"}
VOLATILE |= {"address", "agents", "bytes", "dataFolder", "figures", "gateway", "logFile", "path", "sizeBytes", "store"}
VOLATILE |= {"dashboard", "walSizeBytes"}

COMMANDS = [
    ["sessions", "ls"],
    ["sessions", "ls", "--words", "table", "--limit", "1"],
    ["sessions", "show", "one", "-n", "3"],
    ["sessions", "search", "table", "--session", "one"],
    ["sessions", "fork", "one", "--at", "2", "--as", "fork"],
    ["sessions", "reset", "two", "--as", "after-two"],
    ["sessions", "tag", "after-two", "later"],  # else the two of a reset could be of one millisecond, in any order
    ["sessions", "tag", "one", "a", "b"],
    ["sessions", "tag", "one", "--remove", "a"],
    ["sessions", "hold", "one", "--reason", "case 12"],
    ["sessions", "rm", "--keep", "1", "--dry-run"],
    ["sessions", "rm", "fork", "--yes"],
    ["sessions", "verify"],
    ["sessions", "export", "-o", "{}/out.holdfast"],
    ["sessions", "export", "--layout", "files", "-o", "{}/files"],
    ["sessions", "import", "{}/out.holdfast"],
    ["db", "status"],
    ["db", "migrate"],
    ["db", "backup", "{}/backup"],
]
REFUSED = [["sessions", "show", "none"], ["sessions", "rm", "one", "--yes"], ["sessions", "fork", "one", "--at", "99"]]


def steady(value: Any) -> Any:
    """The answer without what differs from run to run."""
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in VOLATILE}
    return [steady(each) for each in value] if isinstance(value, list) else value


def answers(data: Path, out: Path) -> list[Any]:
    out.mkdir()
    done = [answer(*(part.format(out) for part in command), data=data) for command in COMMANDS]
    refused = [run(*command, "--json", data=data) for command in REFUSED]
    return [*map(steady, done), *((each.exit_code, steady(json.loads(each.stdout))) for each in refused)]


def test_the_answers_are_the_same(tmp_path: Path) -> None:
    fill(tmp_path / "direct")
    shutil.copytree(tmp_path / "direct", tmp_path / "served")
    direct = answers(tmp_path / "direct", tmp_path / "a")
    with running(tmp_path / "served"):
        served = answers(tmp_path / "served", tmp_path / "b")
    named = [" ".join(command) for command in COMMANDS + REFUSED]
    assert dict(zip(named, direct, strict=True)) == dict(zip(named, served, strict=True))
    assert [code for code, _ in direct[len(COMMANDS) :]] == [1, 1, 2]


@pytest.mark.parametrize("command", [["sessions", "ls"], ["sessions", "tag", "one", "x"], ["sessions", "verify"]])
def test_beside_a_gateway_the_file_is_never_opened(tmp_path: Path, command: list[str]) -> None:
    fill(tmp_path)
    words = [*command, "--data", str(tmp_path)]
    alone = ended(*words, module="tests.cli.without_sqlite")
    assert (alone.returncode, "the store's file was opened" in alone.stderr) == (1, True)
    with running(tmp_path):
        beside = ended(*words, module="tests.cli.without_sqlite")
    assert (beside.returncode, beside.stderr) == (0, "")
