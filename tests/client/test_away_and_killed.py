"""The service goes away, the program is killed: everything that was accepted arrives, once and in order."""

import asyncio
import contextlib
import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.client.gate import CutOff, Gate, Seen, let_through, problem
from tests.client.looking import actions, ask, free_port, numbers, patches, spools
from tests.gateway.process import Running, running
from tests.support.eventually import wait_until
from tests.support.processes import holdfast

from holdfast.client import HookAgent, HookAgentBlocking
from holdfast.client.segments import MARK
from holdfast.core import SystemClock


async def test_a_service_that_comes_later_gets_all_of_it(tmp_path: Path) -> None:
    port = free_port()
    async with HookAgent("early", url=f"http://127.0.0.1:{port}") as agent:
        assert agent.resumed is None
        await agent.create_session("ada")
        goal = await agent.add_goal("be there")
        for n in range(500):
            await agent.log_action("step", {"n": n})
        await agent.update_goal(goal, "completed")
        wait_until(lambda: agent.trouble is not None)
        with running(tmp_path / "data", port=port) as service:
            await agent.flush(30)
            assert (agent.trouble, agent.spooled, agent.refused) == (None, 0, 0)
            assert numbers(service.url, "early") == list(range(500))
            found = ask(service.url, "/api/sessions/early")
            assert (found["metadata"]["userId"], found["state"]["goals"][0]["status"]) == ("ada", "completed")


@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.long)])
async def test_a_service_that_is_killed_again_and_again_has_each_action_once(tmp_path: Path, kills: int) -> None:
    chance = random.Random(20261115)
    port = free_port()
    logged = 0
    async with HookAgent("stream", url=f"http://127.0.0.1:{port}") as agent:
        for _ in range(kills):
            with running(tmp_path / "data", port=port) as service:
                await agent.flush(30)
                for _ in range(chance.randint(50, 300)):
                    await agent.log_action("step", {"n": logged})
                    if logged % 50 == 0:
                        await agent.update_state({"step": logged})
                    logged += 1
                    await asyncio.sleep(0.001)
                service.process.kill()
        with running(tmp_path / "data", port=port) as service:
            await agent.flush(30)
            assert numbers(service.url, "stream") == list(range(logged))
            version = ask(service.url, "/api/state/stream")["version"]
            assert version == (logged + 49) // 50
            assert agent.refused == 0


async def test_an_answer_that_is_lost_is_asked_for_again_and_changes_nothing(gate: Gate) -> None:
    chance = random.Random(7)

    def lose_some(seen: Seen) -> CutOff | None:
        return CutOff() if chance.random() < 0.4 else None

    async with HookAgent("lost-answers", url=gate.url) as agent:
        gate.decide = lose_some
        for n in range(5):
            await agent.log_action("step", {"n": n})
            await agent.update_state({"n": n})
            goal = await agent.add_goal(f"goal {n}")
            await agent.update_goal(goal, "completed")
            helper = await agent.spawn_agent("helper", n)
            await agent.complete_agent(helper, n)
        await agent.create_session("ada")
        await agent.flush(30)
        gate.decide = let_through
        assert agent.refused == 0
        assert len(gate.seen) > 31
    found = ask(gate.url, "/api/state/lost-answers")
    assert numbers(gate.url, "lost-answers") == list(range(5))
    assert (found["version"], found["n"], len(found["goals"]), len(found["agents"])) == (5, 4, 5, 5)
    assert ask(gate.url, "/api/sessions/lost-answers/resume")["session"]["headSeq"] == 31


@dataclass(slots=True)
class Lives:
    """What programs were told is kept, or left in a spool when they were killed, by the kind of call."""

    steps: int = -1
    states: set[int] = field(default_factory=set)
    ends: set[int] = field(default_factory=set)
    """The last step of each life: its other call may never have been made."""

    def live_and_be_killed(self, url: str, lines: int) -> None:
        """One more life, that goes on after the last step."""
        words = (url, "killed", str(self.steps + 1))
        spool = os.environ["HOLDFAST_SPOOL"]
        with holdfast(*words, module="tests.client.program", variables={"HOLDFAST_SPOOL": spool}) as program:
            assert program.stdout is not None
            for _ in range(lines):
                self._said(program.stdout.readline())
            program.kill()
            for line in program.stdout:
                if line.endswith("\n"):  # else it was killed while it said so
                    self._said(line)
        # What was written when it died counts too, although it could not say so any more.
        for path in Path(spool).glob("killed~*/*.jsonl"):
            for entry in path.read_bytes().split(b"\n")[:-1]:
                body = json.loads(entry.rpartition(MARK)[2])["body"]
                if body.get("type") == "step":
                    self._took("step", body["details"]["n"])
                elif "n" in body:
                    self._took("state", body["n"])
        self.ends.add(self.steps)

    def _said(self, line: str) -> None:
        kind, n = line.split()
        self._took(kind, int(n))

    def _took(self, kind: str, n: int) -> None:
        if kind == "state":
            self.states.add(n)
        else:
            self.steps = max(self.steps, n)


@pytest.mark.parametrize("cycles", [5, pytest.param(30, marks=pytest.mark.long(seconds=25))])
def test_a_killed_program_loses_nothing_that_it_logged(tmp_path: Path, spool: Path, cycles: int) -> None:
    """The service is away in every second life, and the program is killed in every one but the last."""
    chance = random.Random(20261115)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    lives = Lives()
    with contextlib.ExitStack() as last:
        for cycle in range(cycles):
            with contextlib.ExitStack() as life:
                if cycle % 2:
                    life.enter_context(running(tmp_path / "data", port=port))
                lives.live_and_be_killed(url, chance.randint(1, 120))
        service = last.enter_context(running(tmp_path / "data", port=port))
        assert any(spools(spool))
        with HookAgentBlocking("killed", url=url) as agent:
            assert agent.resumed is not None
            agent.flush(30)
            assert agent.refused == 0
        found = numbers(service.url, "killed")
        assert found == list(range(len(found)))
        assert len(found) >= lives.steps + 1
        changed = [patch["n"] for patch in patches(service.url, "killed")]
        assert changed == sorted(set(changed)), "each once, and in order"
        assert set(changed) >= lives.states
        assert set(range(0, len(found), 7)) - set(changed) <= lives.ends
        state = ask(service.url, "/api/state/killed")
        assert (state["n"], state["version"]) == (changed[-1], len(changed))
    assert spools(spool) == []


async def test_the_next_program_delivers_for_a_dead_one_of_another_session(gateway: Running, spool: Path) -> None:
    with HookAgentBlocking("dead", url="http://127.0.0.1:1") as dead:
        for n in range(50):
            dead.log_action("step", {"n": n})
    assert len(spools(spool)) == 1
    async with HookAgent("alive", url=gateway.url) as agent:
        wait_until(lambda: spools(spool) != [] and all(path.name.startswith("alive~") for path in spools(spool)))
        await agent.log_action("step", {"n": 0})
        await agent.flush()
    assert numbers(gateway.url, "dead") == list(range(50))
    assert numbers(gateway.url, "alive") == [0]
    assert spools(spool) == []


async def test_what_a_dead_program_left_comes_before_what_is_new(gateway: Running, gate: Gate) -> None:
    for life in range(3):
        with HookAgentBlocking("lives", url="http://127.0.0.1:1") as dead:
            dead.log_action("step", {"n": life})
    async with HookAgent("lives", url=gate.url) as agent:
        assert agent.resumed is not None
        assert [event.details["n"] for event in agent.resumed.events] == [0, 1, 2]
        await agent.log_action("step", {"n": 3})
        await agent.flush()
        gate.decide = lambda _seen: problem(503, "busy")
        await agent.log_action("step", {"n": 4})
        wait_until(lambda: agent.trouble is not None)
    async with HookAgent("lives", url=gate.url) as agent:
        assert agent.resumed is None
        await agent.log_action("step", {"n": 5})
        gate.decide = let_through
        await agent.flush()
    assert numbers(gateway.url, "lives") == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("step", [0, -3_600_000], ids=["stands still", "is set back"])
async def test_what_dead_programs_left_keeps_its_order_if_the_clock(
    step: int, gateway: Running, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = SystemClock().now()
    with monkeypatch.context() as patch:
        for life in range(6):
            time = now + life * step
            patch.setattr(SystemClock, "now", lambda _, time=time: time)
            with HookAgentBlocking(f"clock{step}", url="http://127.0.0.1:1") as dead:
                dead.log_action("step", {"n": life})
    async with HookAgent(f"clock{step}", url=gateway.url) as agent:
        await agent.flush()
    assert numbers(gateway.url, f"clock{step}") == [0, 1, 2, 3, 4, 5]


async def test_a_program_waits_for_the_one_that_is_delivering_its_leftovers(gate: Gate, spool: Path) -> None:
    with HookAgentBlocking("mine", url="http://127.0.0.1:1") as dead:
        dead.log_action("step", {"n": 0})
    held = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(seen: Seen) -> None:
        if b'"n":0' in seen.body and not held.is_set():
            asyncio.run_coroutine_threadsafe(held.wait(), loop).result()

    gate.decide = hold
    async with HookAgent("other", url=gate.url, timeout=20) as other:
        wait_until(lambda: any(seen.path.startswith("/api/actions/mine") for seen in gate.seen))
        mine = HookAgent("mine", url=gate.url, timeout=20)
        await mine.log_action("step", {"n": 1})
        await asyncio.sleep(0.2)
        assert (mine.spooled, mine.trouble) == (2, None)
        held.set()
        await mine.flush()
        await mine.close()
        assert other.spooled == 0
    assert [action["details"]["n"] for action in actions(gate.url, "mine")] == [0, 1]
    assert spools(spool) == []
