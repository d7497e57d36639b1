"""How proofs are run: side by side, with shared restarts, and none in the way of another."""

import json
import secrets
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.prove.histories import turn

from holdfast.core import SystemClock
from holdfast.prove.evidence import open_evidence
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import FetchedPage, History
from holdfast.prove.runtime.prerequisites import (
    NEEDS_APPROVAL,
    NEEDS_BOTH_WIRES,
    NEEDS_PAUSE,
    NEEDS_PEER,
    NEEDS_RESTART,
    NEEDS_STREAMING,
    NEEDS_TASKS,
    NEEDS_UPGRADE,
    NEEDS_WORKSPACE,
    Offers,
    missing,
    offers,
)
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.runs.rounds import rounds
from holdfast.prove.runtime.runs.run import ProofPlan, Result, Run
from holdfast.prove.runtime.stage import Patience, Stage
from holdfast.prove.runtime.workspace import Workspace
from holdfast.prove.targets.broken import broken
from holdfast.prove.targets.process import ProcessTarget, free_port
from holdfast.prove.targets.url import UrlTarget
from holdfast.prove.verdict import Finding, Verdict, disproven, proven
from holdfast.prove.wire.client import Wire
from holdfast.prove.wire.envelopes import WireVersion
from holdfast.prove.wire.replies import TargetReply


async def run(tmp_path: Path, *proofs: Proof, peer_url: str | None = None) -> tuple[Result, list[dict[str, Any]], int]:
    """The proofs, run on the honest runtime: what was found, the events, and how often the target was started."""
    evidence = open_evidence(tmp_path, "prove", SystemClock(), time.monotonic)
    launch = broken("none", tmp_path / "data", free_port(), peer_url=peer_url)
    target = ProcessTarget(launch, evidence.folder, start_seconds=30)
    plan = ProofPlan(proofs, asked_for=frozenset(), seed=0, bounds=Patience(answer=30, recovery=15))
    async with Wire(target.url, WireVersion.V1_0) as wire:
        running = Run(plan, target, wire, evidence, new_hex=lambda: secrets.token_hex(6), on_step=lambda *_: None)
        result = await running.perform()
    evidence.finish({})
    lines = (evidence.folder / "events.jsonl").read_text().splitlines()
    return result, [json.loads(line) for line in lines], len(target.logs())


def verdicts(result: Result) -> dict[str, Verdict]:
    return {outcome.proof.name: outcome.finding.verdict for outcome in result.proofs}


async def say_before(stage: Stage) -> None:
    await stage.say("before", stage.new_context(), "Say before.")


async def say_after(stage: Stage) -> None:
    await stage.say("after", stage.history.turn("before").context_id, "Say after.")


def both_said(history: History, facts: Facts) -> Finding:
    return proven(f"{history.turn('before').said} {history.turn('after').said}")


def said(history: History, facts: Facts) -> Finding:
    return proven(history.turn("before").said)


def wrong(history: History, facts: Facts) -> Finding:
    return disproven("wrong", expected="right", got="wrong", curl="curl")


async def fall_over(stage: Stage) -> None:
    raise ZeroDivisionError("oops")


async def test_proofs_share_one_stop_and_one_kill(tmp_path: Path) -> None:
    result, events, starts = await run(
        tmp_path,
        Proof("kill-1", "", say_before, both_said, power="kill", after=say_after),
        Proof("stop-1", "", say_before, both_said, power="stop", after=say_after),
        Proof("plain", "", say_before, said),
        Proof("stop-2", "", say_before, both_said, power="stop", after=say_after),
        Proof("kill-2", "", say_before, both_said, power="kill", after=say_after),
    )
    assert set(verdicts(result).values()) == {Verdict.PROVEN}
    assert list(verdicts(result)) == ["kill-1", "stop-1", "plain", "stop-2", "kill-2"]
    assert starts == 3
    for name in ("stop-1", "stop-2", "kill-1", "kill-2"):
        power = name.partition("-")[0]
        ended = {"stop": "stopped", "kill": "killed"}[power]
        told = [event["event"] for event in events if event["proof"] == name]
        exchange = ["request", "answer"]
        assert told == [*exchange, power, ended, "start", "ready", *exchange, "verdict"]
    places = {(event["proof"], event["event"]): event["n"] for event in events}
    assert places["plain", "verdict"] < places["stop-1", "stop"] < places["stop-2", "verdict"]
    first_of_kill = min(event["n"] for event in events if event["proof"].startswith("kill"))
    assert max(places["stop-1", "verdict"], places["stop-2", "verdict"]) < first_of_kill
    pids = [event["pid"] for event in events if event["event"] in {"stopped", "killed", "ready"}]
    assert len(set(pids)) == 3


async def test_nothing_is_said_between_the_last_step_of_one_that_is_alone_and_its_signal(tmp_path: Path) -> None:
    result, events, starts = await run(
        tmp_path,
        Proof("kill-alone", "", say_before, both_said, power="kill", after=say_after, alone=True, times=2),
        Proof("kill", "", say_before, both_said, power="kill", after=say_after),
        Proof("stop", "", say_before, both_said, power="stop", after=say_after),
        Proof("cut", "", say_before, both_said, power="kill", after=say_after, cut=True),
        Proof("stop-alone", "", say_before, both_said, power="stop", after=say_after, alone=True),
        Proof("both", "", say_before, both_said, power="stop", after=say_after, after_kill=say_after),
    )
    assert set(verdicts(result).values()) == {Verdict.PROVEN}
    assert starts == 1 + 2 + 3
    for name, power in (("stop-alone", "stop"), ("kill-alone", "kill")):
        own = [event["n"] for event in events if event["proof"] == name]
        signal = next(event["n"] for event in events if event["proof"] == name and event["event"] == power)
        before = [event for event in events if event["n"] < signal]
        assert next(event["proof"] for event in reversed(before) if event["event"] == "request") == name
        assert [event for event in events if min(own) <= event["n"] <= max(own) and event["proof"] != name] == []
    told = [event["event"] for event in events if event["proof"] == "kill-alone"]
    twice = ["kill", "killed", "start", "ready"] * 2
    assert told == ["request", "answer", *twice, "request", "answer", "verdict"]
    # What is said between the stop and the kill is not saved by another stop.
    both = [event["event"] for event in events if event["proof"] == "both"]
    stop, kill = ["stop", "stopped", "start", "ready"], ["kill", "killed", "start", "ready"]
    exchange = ["request", "answer"]
    assert both == [*exchange, *stop, *exchange, *kill, *exchange, "verdict"]
    spoken = [event["n"] for event in events if event["proof"] == "both" and event["event"] in {"request", "kill"}]
    assert not [event for event in events if spoken[1] < event["n"] < spoken[2] and event["event"] == "stop"]
    # One that leaves a turn running speaks last before the kill.
    shared = next(event["n"] for event in events if event["proof"] == "cut" and event["event"] == "kill")
    said = [event["proof"] for event in events if event["n"] < shared and event["event"] == "answer"]
    assert said[-1] == "cut"


@pytest.mark.parametrize("names", [[], ["crash"], ["crash", "restart", "crash-mid-turn", "long"]])
def test_every_proof_begins_once_and_goes_on_after_each_of_its_signals(names: list[str]) -> None:
    proofs = [proof for proof in catalogue().values() if not names or proof.name in names]
    order = list(rounds(proofs))
    begun = [proof.name for each in order for proof in (*each.begin, *each.cut)]
    assert sorted(begun) == sorted(proof.name for proof in proofs)
    for proof in proofs:
        powers = [each.power for each in order if proof in each.wait]
        assert powers == [*filter(None, [proof.power]), *(["kill"] if proof.after_kill else [])]
    assert all(each.wait == each.begin for each in order if any(proof.alone for proof in each.wait))


async def test_a_proof_that_is_broken_is_a_fault_and_hides_nothing(tmp_path: Path) -> None:
    result, _, starts = await run(
        tmp_path,
        Proof("falls-over", "", fall_over, said),
        Proof("cannot-judge", "", say_before, both_said),
        Proof("fails-afterwards", "", say_before, said, power="stop", after=fall_over),
        Proof("fine", "", say_before, said),
    )
    assert verdicts(result)["fine"] is Verdict.PROVEN
    faults = {outcome.proof.name for outcome in result.proofs if outcome.finding.fault}
    assert faults == {"falls-over", "cannot-judge", "fails-afterwards"}
    assert "ZeroDivisionError: oops" in result.proofs[0].finding.reason
    assert result.exit_code == 2
    assert starts == 2


async def think(stage: Stage) -> None:
    await stage.say("before", stage.new_context(), "Think for 5 seconds, then say before.")


@pytest.mark.long
async def test_a_turn_that_was_over_before_the_kill_came_is_no_proof_of_surviving_it(tmp_path: Path) -> None:
    slow = Proof("slow", "", think, both_said, power="kill", after=say_after, cut=True)
    result, _, _ = await run(tmp_path, catalogue()["crash-mid-turn"], slow)
    assert verdicts(result) == {"crash-mid-turn": Verdict.INCONCLUSIVE, "slow": Verdict.PROVEN}
    assert "may have ended by then" in result.proofs[0].finding.reason


async def test_what_is_needed_is_waited_for_and_what_cannot_be_waited_for_is_not_reached(tmp_path: Path) -> None:
    result, events, starts = await run(
        tmp_path,
        Proof("needs-plain", "", say_before, said, needs=("turn", "plain")),
        Proof("plain", "", say_before, said),
        Proof("wrong", "", say_before, wrong),
        Proof("needs-wrong", "", say_before, said, needs=("wrong",), power="stop", after=say_after),
        Proof("needs-restart", "", say_before, said, needs=("restart",)),
        Proof("restart", "", say_before, both_said, power="stop", after=say_after),
        Proof("kill-needs-restart", "", say_before, both_said, needs=("restart",), power="kill", after=say_after),
        Proof("needs-nothing-there", "", say_before, said, needs=("elsewhere",)),
    )
    found = verdicts(result)
    reached = {"needs-plain", "plain", "restart", "kill-needs-restart"}
    assert {name for name, verdict in found.items() if verdict is Verdict.PROVEN} == reached
    assert {name for name, verdict in found.items() if verdict is Verdict.NOT_REACHED} == {
        "needs-wrong",
        "needs-restart",
        "needs-nothing-there",
    }
    places = {(event["proof"], event["event"]): event["n"] for event in events}
    assert places["plain", "verdict"] < places["needs-plain", "request"]
    assert not any(event["event"] == "request" for event in events if event["proof"] == "needs-wrong")
    assert starts == 3


async def test_a_second_agent_that_cannot_be_started_is_a_fault_for_who_wants_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/a2a"
        wants = Proof("wants-peer", "", say_before, said, requires=frozenset({"peer"}))
        result, _, _ = await run(tmp_path, wants, Proof("plain", "", say_before, said), peer_url=url)
    assert result.proofs[0].finding.fault
    assert "the second agent could not be started" in result.proofs[0].finding.reason
    assert result.proofs[1].finding.verdict is Verdict.PROVEN


@pytest.mark.parametrize(
    ("why", "proof"),
    [
        (NEEDS_RESTART, Proof("p", "", say_before, said, power="stop", after=say_after)),
        (NEEDS_WORKSPACE, Proof("p", "", say_before, said, requires=frozenset({"workspace"}))),
        (NEEDS_PEER, Proof("p", "", say_before, said, requires=frozenset({"peer"}))),
        (NEEDS_STREAMING, Proof("p", "", say_before, said, requires=frozenset({"streaming"}))),
        (NEEDS_BOTH_WIRES, Proof("p", "", say_before, said, requires=frozenset({"both wires"}))),
        (NEEDS_TASKS, Proof("p", "", say_before, said, requires=frozenset({"tasks"}))),
        (NEEDS_APPROVAL, Proof("p", "", say_before, said, requires=frozenset({"approval"}))),
        (NEEDS_PAUSE, Proof("p", "", say_before, said, power="pause", after=say_after)),
    ],
)
def test_what_a_target_lacks_is_said_with_a_hint(why: str, proof: Proof, tmp_path: Path) -> None:
    elsewhere = UrlTarget("http://h", None, log_folder=tmp_path, start_seconds=1)
    lack = missing(proof, elsewhere, Offers(False, frozenset({WireVersion.V1_0}), False, False))
    assert lack is not None
    assert lack.reason == why
    assert lack.hint
    ours = ProcessTarget(broken("none", tmp_path, 1, peer_url="http://127.0.0.1:2/a2a"), tmp_path, start_seconds=1)
    assert missing(proof, ours, Offers()) is None


def test_an_upgrade_takes_a_next_version(tmp_path: Path) -> None:
    proof = Proof("p", "", say_before, said, power="upgrade", after=say_after)
    launch = broken("none", tmp_path, 1)
    assert missing(proof, ProcessTarget(launch, tmp_path, start_seconds=1), Offers()) is None
    lack = missing(proof, ProcessTarget(replace(launch, next_command=()), tmp_path, start_seconds=1), Offers())
    assert lack is not None
    assert lack.reason == NEEDS_UPGRADE
    assert "--next-command" in lack.hint


@pytest.mark.parametrize(
    ("card", "said_so"),
    [
        ({"capabilities": {"streaming": True}}, True),
        ({"capabilities": {"streaming": False}}, False),
        ({"capabilities": "all"}, False),
        ({}, False),
    ],
)
def test_a_target_streams_if_its_card_says_so(card: dict[str, Any], said_so: bool) -> None:
    pages = (FetchedPage("read", "u", 404, "", None), FetchedPage("read", "u", 200, "", card))
    assert offers(History(*pages), History()).streaming is said_so


def test_a_target_that_answers_with_messages_has_no_tasks() -> None:
    message, task = (turn("greet", TargetReply(text="Hello", task_id=task_id)) for task_id in (None, "t"))
    silent = turn("greet", TargetReply(error="JSON-RPC error -32603: oops"))
    assert not offers(History(), History(message)).tasks
    assert offers(History(), History(task)).tasks
    assert offers(History(), History(silent)).tasks
    assert not offers(History(), History(message, replace(message, step="give it work"))).tasks
    assert offers(History(), History(message, replace(task, step="give it work"))).tasks


def test_what_was_put_into_a_workspace_is_taken_out_again(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    workspace = Workspace(lambda: tmp_path)
    workspace.seed("skills/one/SKILL.md", "one")
    workspace.seed("two/deep/file.txt", "a line\nanother\na line\n")
    assert workspace.count("two/deep/file.txt", "a line")[1] == 2
    (tmp_path / "two" / "theirs.txt").write_text("not ours")
    workspace.tidy()
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"skills", "two", "two/theirs.txt"}
    assert workspace.count("two/deep/file.txt", "a line")[1] is None
