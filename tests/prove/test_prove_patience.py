"""A target that takes its time, as the protocol lets it, is waited for before anything is looked at."""

import asyncio
import json
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.prove.answering import answering

from holdfast.core import SystemClock
from holdfast.prove.evidence import open_evidence
from holdfast.prove.runtime.facts import CLASSIC
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.proofs.faults.effect import found_within
from holdfast.prove.runtime.stage import Patience, Stage
from holdfast.prove.targets.url import UrlTarget
from holdfast.prove.verdict import Finding, Verdict

LOOKS = 5
"""So often a task is seen as it was before it is seen as it becomes."""
BUSY_SECONDS = 3.3
"""So long a machine that is busy takes for an answer; more than the turns of these proofs think."""


async def tried(
    proof: str,
    tmp_path: Path,
    result: Callable[[dict[str, Any]], dict[str, Any]],
    seconds: Callable[[dict[str, Any]], float] = lambda _: 0.0,
) -> Finding:
    """What a proof finds of a target that answers a call with this result, after so many seconds."""

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        call = json.loads(request.partition(b"\r\n\r\n")[2])
        body = json.dumps({"result": result(call)})
        await asyncio.sleep(seconds(call))
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    evidence = open_evidence(tmp_path / "artifacts", "prove", SystemClock(), time.monotonic)
    async with answering(answer) as wire:
        stage = Stage(
            proof=proof,
            facts=CLASSIC,
            target=UrlTarget(wire.base_url, tmp_path, log_folder=tmp_path, start_seconds=1),
            wire=wire,
            evidence=evidence,
            bounds=Patience(answer=30, recovery=15),
            new_hex=lambda: secrets.token_hex(6),
            on_step=lambda *_: None,
        )
        await catalogue()[proof].steps(stage)
    evidence.finish({})
    return catalogue()[proof].check(stage.history, CLASSIC)


def task(name: str, state: str) -> dict[str, Any]:
    return {"id": name, "status": {"state": f"TASK_STATE_{state}", "message": {"parts": [{"text": "Yes."}]}}}


def append(call: dict[str, Any], folder: Path) -> None:
    """Do what a message asks for."""
    asked = re.search(r"append the line (\w+) to the file ([\w.-]*\w)", call["params"]["message"]["parts"][0]["text"])
    assert asked
    with (folder / asked[2]).open("a") as file:
        file.write(f"{asked[1]}\n")


async def test_a_task_that_is_canceled_a_while_after_the_wish_is_canceled(tmp_path: Path) -> None:
    calls: list[str] = []

    def result(call: dict[str, Any]) -> dict[str, Any]:
        calls.append(call["method"])
        if call["method"] == "SendMessage" and "CancelTask" in calls:
            append(call, tmp_path)
            return {"task": task("control", "COMPLETED")}
        if call["method"] == "SendMessage":
            return {"task": task("t", "WORKING")}
        return task("t", "CANCELED" if calls[-LOOKS:].count("GetTask") == LOOKS else "WORKING")

    finding = await tried("cancel", tmp_path, result)
    assert finding.verdict is Verdict.PROVEN, finding


async def test_a_task_that_is_still_running_at_the_first_look_that_is_answered_is_caught(tmp_path: Path) -> None:
    calls: list[str] = []

    def result(call: dict[str, Any]) -> dict[str, Any]:
        calls.append(call["method"])
        if call["method"] == "SendMessage" and "CancelTask" in calls:
            append(call, tmp_path)
            return {"task": task("control", "COMPLETED")}
        if call["method"] == "SendMessage":
            return {"task": task("t", "WORKING")}
        return task("t", "CANCELED" if "CancelTask" in calls else "WORKING")

    def seconds(call: dict[str, Any]) -> float:
        return BUSY_SECONDS if call["method"] == "GetTask" and calls.count("GetTask") == 1 else 0.0

    finding = await tried("cancel", tmp_path, result, seconds)
    assert finding.verdict is Verdict.PROVEN, finding


async def test_the_effect_of_a_second_delivery_is_waited_for(tmp_path: Path) -> None:
    calls: list[str] = []

    def result(call: dict[str, Any]) -> dict[str, Any]:
        calls.append(call["method"])
        if calls == ["SendMessage"]:
            append(call, tmp_path)
            delivered.update(call)
            return {"task": task("one", "COMPLETED")}
        if call["method"] == "SendMessage":
            return {"task": task("two", "WORKING")}
        if calls.count("GetTask") == LOOKS:
            append(delivered, tmp_path)
        return task("two", "COMPLETED" if calls.count("GetTask") >= LOOKS else "WORKING")

    delivered: dict[str, Any] = {}
    finding = await tried("duplicate", tmp_path, result)
    assert finding.verdict is Verdict.DISPROVEN, finding


def test_an_effect_is_waited_for_longer_where_answers_are() -> None:
    assert (found_within(30), found_within(240)) == (8, 60)
