"""After a disproof or a fault, the layers say where the target is broken, and a command shows each of them."""

import asyncio
import json
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.prove.answering import answering

from holdfast.core import SystemClock
from holdfast.prove import Layer, Target, prove_async
from holdfast.prove.evidence import open_evidence
from holdfast.prove.runtime import facts
from holdfast.prove.runtime.layers import diagnose
from holdfast.prove.runtime.layers.conversation import session_key
from holdfast.prove.runtime.layers.layer import Bench
from holdfast.prove.runtime.layers.surface import missing
from holdfast.prove.runtime.stage import Patience, Stage
from holdfast.prove.targets import Choice, choose
from holdfast.prove.targets.process import free_port
from holdfast.prove.wire.client import Wire
from holdfast.prove.wire.envelopes import WireVersion

SERVER = Path(__file__).with_name("misbehaving.py")
ORDER = ["reachable", "card", "turn", "session key", "store", "memory", "files"]
COMPLETE = {
    **{"name": "n", "description": "d", "version": "1", "capabilities": {}, "skills": []},
    **{"defaultInputModes": [], "defaultOutputModes": []},
}


def states(layers: tuple[Layer, ...]) -> dict[str, str]:
    assert [layer.name for layer in layers] == ORDER
    return {layer.name: layer.state for layer in layers if layer.state != "ok"}


@asynccontextmanager
async def hands_on(
    choice: Choice, tmp_path: Path, *, answer: float = 20.0, version: WireVersion = WireVersion.V1_0
) -> AsyncIterator[tuple[Stage, Target, Wire]]:
    """A stage before a target that is started on demand and ended afterwards."""
    evidence = open_evidence(tmp_path, "prove", SystemClock(), time.monotonic)
    target = choose(choice, evidence.folder, 30.0)
    async with Wire(target.url, version) as wire:
        stage = Stage(
            proof="layers",
            facts=facts.draw(7, "layers"),
            target=target,
            wire=wire,
            evidence=evidence,
            bounds=Patience(answer, answer),
            new_hex=lambda: secrets.token_hex(6),
            on_step=lambda *_: None,
        )
        try:
            yield stage, target, wire
        finally:
            target.abandon()
            evidence.finish({})


def misbehaving(mode: str, tmp_path: Path) -> Choice:
    return Choice(command=f"{sys.executable} {SERVER} {mode} {{port}} {tmp_path}/told")


async def test_nothing_is_looked_at_where_all_is_proven(tmp_path: Path) -> None:
    result = await prove_async("name", target="broken:none", artifacts=tmp_path)
    assert result.layers == ()


async def test_a_conversation_that_is_two_sessions_is_seen_in_the_store(tmp_path: Path) -> None:
    result = await prove_async("name", target="broken:task-keyed", artifacts=tmp_path)
    assert states(result.layers) == {"session key": "broken"}
    assert "the store has 2 session(s) for the context" in result.layers[3].got
    summary = json.loads((result.folder / "summary.json").read_bytes())
    assert [layer["state"] for layer in summary["layers"]] == ["ok", "ok", "ok", "broken", "ok", "ok", "ok"]
    assert set(summary["layers"][3]) == {"name", "state", "expected", "got", "curl"}


async def test_a_store_that_stays_empty_is_broken_although_the_conversation_works(tmp_path: Path) -> None:
    result = await prove_async("crash", target="broken:memory-only", artifacts=tmp_path)
    assert states(result.layers) == {"store": "broken"}


@pytest.mark.skipif(not shutil.which("curl"), reason="NOT RUN: there is no curl here")
@pytest.mark.parametrize(("choice", "version"), [(Choice(), "1.0"), (Choice(name="broken:none"), "0.3")])
async def test_all_is_well_with_the_bundled_runtime_and_the_honest_one_and_every_command_shows_it(
    choice: Choice, version: str, tmp_path: Path
) -> None:
    async with hands_on(choice, tmp_path, version=WireVersion(version)) as (stage, target, wire):
        layers = await diagnose(stage, target, wire)
        assert states(layers) == {}
        for layer in layers:
            shown = subprocess.run(["bash", "-c", layer.curl], capture_output=True, text=True, timeout=30, check=True)
            assert shown.stdout.startswith(("HTTP/1.1 200", "{")), layer
            assert '"error"' not in shown.stdout


async def test_a_target_that_cannot_be_started_is_unreachable_and_the_rest_is_unknown(tmp_path: Path) -> None:
    choice = Choice(command=f"{sys.executable} -c 'raise SystemExit(\"no disk\")'", port=free_port())
    result = await prove_async("name", command=choice.command or "", port=choice.port or 0, artifacts=tmp_path)
    assert states(result.layers) == {"reachable": "broken", **dict.fromkeys(ORDER[1:], "unknown")}
    assert "its last words: no disk" in result.layers[0].got
    assert result.layers[0].curl.startswith("curl -sSi http://127.0.0.1:")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("no-card", {"card": "broken", "store": "unknown", "files": "broken"}),
        ("messages-only", {"card": "broken", "store": "unknown", "files": "broken"}),
        ("speaks-old-only", {"card": "broken", "turn": "broken", **dict.fromkeys(ORDER[3:], "unknown")}),
        ("silent", {"card": "broken", "turn": "broken", **dict.fromkeys(ORDER[3:], "unknown")}),
        ("dies", {"card": "broken", "session key": "broken", "store": "unknown"}),
    ],
)
async def test_what_is_wrong_with_a_stranger_is_told_layer_by_layer(
    mode: str, expected: dict[str, str], tmp_path: Path
) -> None:
    async with hands_on(misbehaving(mode, tmp_path), tmp_path, answer=1.0) as (stage, target, wire):
        layers = await diagnose(stage, target, wire)
        found = states(layers)
    if mode == "dies":
        found = {name: state for name, state in found.items() if name in expected}
    assert found == expected
    for layer in layers:
        assert layer.expected
        assert layer.got
        assert layer.curl or layer.state == "unknown"


async def test_looking_takes_no_longer_than_it_may(tmp_path: Path) -> None:
    async with hands_on(misbehaving("silent", tmp_path), tmp_path, answer=60.0) as (stage, target, wire):
        await target.start()
        layers = await diagnose(stage, target, wire, within=0.5)
    assert states(layers) == {"card": "broken", **dict.fromkeys(ORDER[2:], "unknown")}
    assert layers[2].got == "the time for looking was up"


async def test_a_target_that_takes_its_time_is_not_called_broken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.prove.runtime.layers.layer.LONGEST_ANSWER_SECONDS", 0.1)
    line = misbehaving("slow", tmp_path).command or ""
    result = await prove_async("isolation", command=line, port=free_port(), artifacts=tmp_path)
    assert states(result.layers) == {"card": "broken", "store": "unknown", "files": "broken"}


@pytest.mark.parametrize(
    "refusal",
    [
        {"error": {"code": -32004, "message": "the task has ended"}},
        {"result": {"task": {"id": "t", "status": {"state": "TASK_STATE_REJECTED"}}}},
    ],
)
async def test_an_ended_task_may_refuse_more_messages_in_any_way(refusal: dict[str, Any], tmp_path: Path) -> None:
    name = facts.draw(7, "layers").name
    done = {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"text": name}]}]}

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        message = json.loads(request.partition(b"\r\n\r\n")[2])["params"]["message"]
        body = json.dumps(refusal if "taskId" in message else {"result": {"task": done}})
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    async with answering(answer) as wire, hands_on(Choice(url=wire.base_url), tmp_path) as (stage, target, own_wire):
        seen = await session_key(Bench(stage, target, own_wire, stage.new_context()))
    assert seen.fine
    assert seen.got.startswith("with the task's id: ")


class Odd:
    """A probe whose answers have no sense in them."""

    def __init__(self, target: Target, shown: dict[str, Any]) -> None:
        self._target = target
        self._shown = shown

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    async def probe(self, context_id: str) -> dict[str, Any]:
        """What it was told to show."""
        return self._shown


async def test_two_sessions_in_the_store_break_the_session_key_although_the_answers_are_right(tmp_path: Path) -> None:
    async with hands_on(Choice(name="broken:none"), tmp_path) as (stage, target, wire):
        layers = await diagnose(stage, Odd(target, {"context": {"sessions": 2, "events": 4}}), wire)
    assert states(layers) == {"session key": "broken"}


async def test_a_probe_that_makes_no_sense_ends_nothing(tmp_path: Path) -> None:
    async with hands_on(Choice(name="broken:none"), tmp_path) as (stage, target, wire):
        for shown in ({"sessions": "many", "events": None}, {"context": 7}, {"events": "none"}):
            layers = await diagnose(stage, Odd(target, shown), wire)
            assert set(states(layers).values()) <= {"unknown"}


@pytest.mark.parametrize(
    ("card", "lacking"),
    [
        ({**COMPLETE, "url": "u", "protocolVersion": "0.3.0"}, []),
        ({**COMPLETE, "protocolVersion": "0.3.0"}, ["url"]),
        ({**COMPLETE, "supportedInterfaces": [{"url": "u", "protocolBinding": "b", "protocolVersion": "1.0"}]}, []),
        ({**COMPLETE, "supportedInterfaces": [{"url": "u"}]}, ["protocolBinding", "protocolVersion"]),
        ({**COMPLETE, "supportedInterfaces": []}, ["an entry"]),
        ({"name": "n", "url": "u", "protocolVersion": "0.3.0", "skills": []}, ["description", "version"]),
    ],
)
def test_a_card_is_complete_by_the_rules_of_its_own_version(card: dict[str, Any], lacking: list[str]) -> None:
    found = missing(card)
    assert bool(found) == bool(lacking)
    assert all(any(lack in each for each in found) for lack in lacking)
