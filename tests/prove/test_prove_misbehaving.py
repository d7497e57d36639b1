"""What is wrong with a target, what is wrong around it, and what cannot be judged are told apart."""

import sys
from pathlib import Path

import pytest
from tests.prove.prover import Proved, prove

SERVER = Path(__file__).parent / "misbehaving.py"


def misbehave(mode: str, only: str, tmp_path: Path, *arguments: str) -> Proved:
    line = f"{sys.executable} {SERVER} {mode} {{port}} {tmp_path}/told"
    return prove("--command", line, "--only", only, "--json", *arguments, artifacts=tmp_path)


def finding(proved: Proved, name: str) -> dict[str, str]:
    every = [*proved.summary["prerequisites"], *proved.summary["proofs"]]
    return next(found for found in every if found["name"] == name)


def test_an_agent_card_that_is_no_json_disproves(tmp_path: Path) -> None:
    proved = misbehave("no-card", "name", tmp_path)
    assert proved.exit_code == 1
    assert finding(proved, "card")["verdict"] == "disproven"
    assert finding(proved, "name")["verdict"] == "not reached"


def test_a_json_rpc_error_disproves_and_hints_at_the_other_version(tmp_path: Path) -> None:
    proved = misbehave("speaks-old-only", "name", tmp_path)
    assert proved.exit_code == 1
    assert "-32601" in finding(proved, "turn")["got"]
    assert "--wire" in finding(proved, "turn")["hint"]


@pytest.mark.parametrize(("mode", "said"), [("silent", "within 1 s"), ("unavailable", "503")])
def test_no_answer_is_a_fault(mode: str, said: str, tmp_path: Path) -> None:
    proved = misbehave(mode, "name", tmp_path, "--timeout", "1")
    assert proved.exit_code == 2
    assert said in finding(proved, "turn")["reason"]


def test_a_target_that_ends_by_itself_is_a_fault_and_said_to_have_ended(tmp_path: Path) -> None:
    proved = misbehave("dies", "name", tmp_path)
    assert proved.exit_code == 2
    assert finding(proved, "name")["verdict"] == "inconclusive"
    assert "ended by itself" in finding(proved, "name")["hint"]


def test_a_target_that_does_not_come_back_from_a_kill_is_disproven(tmp_path: Path) -> None:
    proved = misbehave("stays-down", "crash", tmp_path)
    assert proved.exit_code == 1
    assert finding(proved, "name")["verdict"] == "proven"
    assert finding(proved, "crash")["verdict"] == "disproven"
    assert "the lock of the last process is still there" in finding(proved, "crash")["got"]


def test_a_target_without_tasks_cannot_be_caught_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    proved = misbehave("messages-only", "crash,crash-mid-turn", tmp_path)
    assert proved.exit_code == 3
    assert proved.verdicts() == {"name": "proven", "crash": "proven", "crash-mid-turn": "inconclusive"}
