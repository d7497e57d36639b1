"""After a disproof or a fault, the layers say where the target is broken, and a command shows each of them."""

import asyncio
import json
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.prove.answering import answering
from tests.support.hurried_proofs import prove_hurried

from holdfast.core import SystemClock
from holdfast.prove import Layer, Target, prove_async
from holdfast.prove.evidence import open_evidence
from holdfast.prove.runtime import facts
from holdfast.prove.runtime.layers import Trouble, diagnose, trouble_in
from holdfast.prove.runtime.layers.conversation import session_key
from holdfast.prove.runtime.layers.layer import Bench
from holdfast.prove.runtime.layers.surface import missing
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.stage import Patience, Stage
from holdfast.prove.targets import Choice, choose
from holdfast.prove.targets.process import free_port
from holdfast.prove.verdict import disproven, faulted, proven
from holdfast.prove.wire.client import Wire
from holdfast.prove.wire.envelopes import WireVersion

SERVER = Path(__file__).with_name("misbehaving.py")
ORDER = ["reachable", "card", "turn", "session key", "store", "survives a restart", "memory", "files"]
SURFACE = ORDER[:3]
COMPLETE = {
    **{"name": "n", "description": "d", "version": "1", "capabilities": {}, "skills": []},
    **{"defaultInputModes": [], "defaultOutputModes": []},
}


def states(layers: tuple[Layer, ...], names: Sequence[str] = ORDER) -> dict[str, str]:
    assert [layer.name for layer in layers] == list(names)
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
    assert states(result.layers, ORDER[:5]) == {"session key": "broken"}
    assert "the store has 2 session(s) for the context" in result.layers[3].got
    summary = json.loads((result.folder / "summary.json").read_bytes())
    assert [layer["state"] for layer in summary["layers"]] == ["ok", "ok", "ok", "broken", "ok"]
    assert set(summary["layers"][3]) == {"name", "state", "expected", "got", "curl"}


async def test_a_store_that_stays_empty_is_broken_although_the_conversation_works(tmp_path: Path) -> None:
    result = await prove_async("crash", target="broken:memory-only", artifacts=tmp_path)
    assert states(result.layers, ORDER[:6]) == {"store": "broken", "survives a restart": "broken"}
    assert result.layers[5].got.startswith("after SIGKILL and a start: ")


async def test_a_layer_is_never_in_order_beside_a_disproof_of_the_same(tmp_path: Path) -> None:
    result = await prove_async("memory", target="broken:memory-by-context", artifacts=tmp_path)
    assert states(result.layers, [*SURFACE, "memory"]) == {"memory": "broken"}
    trouble = Trouble(frozenset({*SURFACE, "memory"}), frozenset({"memory"}))
    async with hands_on(Choice(name="broken:none"), tmp_path / "again") as (stage, target, wire):
        layers = await diagnose(stage, target, wire, trouble=trouble)
    assert states(layers, [*SURFACE, "memory"]) == {"memory": "unknown"}
    assert layers[3].got.endswith("it works now, and memory is disproven")


async def test_a_restart_is_not_in_order_beside_any_disproof_with_one(tmp_path: Path) -> None:
    trouble = look_at("isolation")
    assert trouble is not None
    async with hands_on(Choice(name="broken:none"), tmp_path) as (stage, target, wire):
        layers = await diagnose(stage, target, wire, trouble=trouble)
    (restart,) = [layer for layer in layers if layer.name == "survives a restart"]
    assert (restart.state, restart.got.rpartition("; ")[2]) == ("unknown", "it works now, and isolation is disproven")


def look_at(*names: str, fault: str = "") -> Trouble | None:
    """What is wrong where these proofs are disproven."""
    proofs = catalogue()
    wrong = [(proofs[name], disproven("", expected="", got="")) for name in names]
    return trouble_in([(proofs["name"], proven("")), *wrong, *([(proofs["long"], faulted(fault))] if fault else [])])


@pytest.mark.parametrize(
    ("names", "layers"),
    [
        (("file-only",), {"files"}),
        (("memory",), {"memory"}),
        (("tool-use",), set()),
        (("long",), {"session key", "store"}),
        (("stream-cancel",), {"session key"}),
        (("memory-deep",), {"memory", "session key", "survives a restart"}),
        (("crash", "file-caption"), {"session key", "store", "survives a restart", "files"}),
    ],
)
def test_what_the_failure_does_not_touch_is_not_looked_at(names: tuple[str, ...], layers: set[str]) -> None:
    found = look_at(*names)
    assert found is not None
    assert {name for name in ORDER if found.touches(name)} == {*SURFACE, *layers}


def test_a_target_is_restarted_as_it_was_where_it_failed() -> None:
    found = [look_at("crash"), look_at("duplicate"), look_at("restart", "crash"), look_at("long")]
    assert [trouble and trouble.power for trouble in found] == ["kill", "kill", "stop", "stop"]
    assert look_at() is None
    assert look_at(fault="cut") == Trouble(frozenset(SURFACE))


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


async def test_a_target_that_cannot_be_started_is_not_started_again_to_look_at_it(tmp_path: Path) -> None:
    choice = Choice(command=f"{sys.executable} -c 'raise SystemExit(\"no disk\")'", port=free_port())
    result = await prove_async("name", command=choice.command or "", port=choice.port or 0, artifacts=tmp_path)
    assert result.layers == ()
    assert "its last words: no disk" in result.prerequisites[0].finding.reason
    assert [path.name for path in result.folder.glob("target-*.log")] == ["target-1.log"]


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


async def test_a_target_that_takes_its_time_is_not_called_broken_for_it(tmp_path: Path) -> None:
    line = misbehaving("slow", tmp_path).command or ""
    result = await prove_hurried("isolation", command=line, port=free_port(), artifacts=tmp_path, look=0.1)
    found = {"card": "broken", "store": "unknown", "survives a restart": "unknown"}
    assert states(result.layers, ORDER[:6]) == found


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
    assert states(layers) == {"session key": "broken", "survives a restart": "unknown"}


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
