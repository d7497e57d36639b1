"""`holdfast prove explore` as a user runs it, on real processes."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as Tree

import pytest
from tests.prove.explore.explorer import explore
from tests.prove.test_prove_fair import STRANGER, TENANT, TOKEN

from holdfast.core.redact import HIDDEN
from holdfast.prove.explore.histories import history
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import Ask, Kill, Tell
from holdfast.prove.explore.histories.values import Form

FORGETFUL = Course(
    seed=1,
    number=0,
    operations=(
        Tell(message=3, context=2, fact=1, value=1, form=Form.QUOTES),
        Tell(message=4, context=0, fact=0, value=2),
        Kill(),
        Ask(message=5, context=2, fact=1),
    ),
)


@pytest.mark.long(seconds=20)
def test_a_history_is_replayed_confirmed_and_shrunk(tmp_path: Path) -> None:
    history.write(FORGETFUL, tmp_path / "history.json")
    explored = explore(
        *("--target", "broken:memory-only", "--replay", str(tmp_path / "history.json"), "--confirm", "1"),
        *("--json", "--junit", str(tmp_path / "junit.xml")),
        artifacts=tmp_path,
    )
    assert explored.exit_code == 1, explored.stderr
    summary = explored.summary
    [violation] = summary["violations"]
    assert (violation["claim"], violation["trouble"], violation["confirmed"]) == ("known", "forgotten", True)
    assert len(violation["steps"]) == 3
    assert violation["steps"][1] == "SIGKILL, and start again"
    folder = Path(summary["evidence"])
    assert "SIGKILL, and start again" in (folder / "report.html").read_text()
    assert (folder / "target-1" / "target-1.log").exists()
    assert not (folder / "trials").exists()
    assert Tree.parse(tmp_path / "junit.xml").find(".//failure") is not None
    assert [proof["name"] for proof in summary["proofs"] if proof["verdict"] == "disproven"] == ["known"]
    assert len(history.read(folder / "violation-1.json").operations) == 3


def test_a_history_that_violates_nothing_is_proven(tmp_path: Path) -> None:
    history.write(FORGETFUL, tmp_path / "history.json")
    replayed = ("--replay", str(tmp_path / "history.json"))
    honest = explore("--target", "broken:none", *replayed, "--json", artifacts=tmp_path)
    assert honest.exit_code == 0, honest.stderr
    assert honest.summary["explored"]["histories"] == 1
    lines = (Path(honest.summary["evidence"]) / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["run", "history"]


@pytest.mark.long(seconds=30)
@pytest.mark.parametrize("kind", ["memory-only", "runs-twice"])
def test_a_broken_runtime_is_found_out(kind: str, tmp_path: Path) -> None:
    drawn = ("--seed", "1", "--histories", "40", "--confirm", "1")
    explored = explore("--target", f"broken:{kind}", *drawn, "--json", artifacts=tmp_path)
    assert explored.exit_code == 1, explored.stderr


@pytest.mark.long(seconds=20)
@pytest.mark.parametrize("wire", ["0.3", "1.0"])
@pytest.mark.parametrize("target", ["bundled", "broken:none"])
def test_an_honest_runtime_is_not_accused(target: str, wire: str, tmp_path: Path) -> None:
    """A few histories; `make chaos ARGS="explore"` performs a thousand."""
    explored = explore(
        *("--target", target, "--wire", wire, "--seed", "3", "--histories", "3", "--json"), artifacts=tmp_path
    )
    assert explored.exit_code == 0, explored.stdout


def test_wrong_options_are_refused_before_anything_starts(tmp_path: Path) -> None:
    for arguments in (("--budget", "soon"), ("--profile", "everything"), ("--replay", str(tmp_path / "none.json"))):
        refused = explore(*arguments, artifacts=tmp_path)
        assert refused.exit_code == 2
        assert "hint: " in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_does_not_start_is_a_fault(tmp_path: Path) -> None:
    explored = explore("--command", "false", "--port", "9", "--json", artifacts=tmp_path)
    assert explored.exit_code == 2
    assert "did not start" in explored.summary["explored"]["faults"][0]


def test_credentials_go_with_every_request_and_into_no_evidence(tmp_path: Path) -> None:
    told = Tell(message=1, context=0, fact=0, value=1)
    history.write(
        Course(seed=1, number=0, operations=(told, Ask(message=2, context=0, fact=0))), tmp_path / "history.json"
    )
    agent = f"{sys.executable} {STRANGER} {{port}} {{data}}/told.jsonl {TOKEN}"
    words = ("--command", agent, "--replay", str(tmp_path / "history.json"), "--json")
    for given, code in ((("--token", TOKEN, "--header", f"X-Tenant: {TENANT}"), 0), ((), 2)):
        explored = explore(*words, *given, artifacts=tmp_path)
        assert explored.exit_code == code, explored.stdout
        if given:
            files = [path for path in Path(explored.summary["evidence"]).rglob("*") if path.is_file()]
            assert not [path.name for path in files if TOKEN in path.read_text() or TENANT in path.read_text()]
            assert (explored.summary["arguments"]["token"], explored.summary["wire"]) == (HIDDEN, "0.3")
            assert TOKEN not in explored.stdout + explored.stderr
