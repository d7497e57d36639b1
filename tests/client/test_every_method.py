"""Every method of the hook agent, against a real gateway."""

import asyncio
import logging
import threading
from pathlib import Path

import pytest
from tests.client.gate import Gate, Seen, let_through
from tests.client.looking import actions, ask, numbers, spools
from tests.gateway.process import Running
from tests.support.eventually import wait_until

from holdfast.client import HookAgent, NotDelivered, ServiceAway, SpoolUnavailable, leftovers
from holdfast.core.errors import InvalidInput, InvalidJson, NotFound, TooLarge


async def test_a_program_reports_and_a_restarted_one_goes_on(gateway: Running, spool: Path) -> None:
    async with HookAgent("tour", url=gateway.url) as agent:
        assert agent.resumed is None
        assert await agent.test_connection()
        assert await agent.create_session("ada", initial={"input": "fly"}, tags=["t"], metadata={"a": 1}) == "tour"
        first = await agent.log_action("search", {"place": "Ølen"}, timestamp="2026-02-13T10:00:00Z")
        answered = await agent.log_response({"text": "found"}, parent_id=first)
        await agent.update_state({"phase": "plan", "seats": [1]})
        await agent.update_state({"phase": "do", "seats": None})
        land = await agent.add_goal("land", priority="high")
        done = await agent.add_goal("start", goal_id="goal-start")
        await agent.update_goal(land, "in_progress", description="land safely")
        await agent.update_goal(done, "completed")
        pilot = await agent.spawn_agent("pilot", {"seat": 1})
        scout = await agent.spawn_agent("scout", agent_id="scout-1")
        await agent.complete_agent(scout, {"wind": 3}, status="failed")
        await agent.flush()

        found = ask(gateway.url, "/api/sessions/tour")
        assert (found["metadata"]["userId"], found["metadata"]["tags"], found["initial"]) == (
            "ada",
            ["t"],
            {"input": "fly"},
        )
        assert (found["state"]["phase"], found["state"]["version"], "seats" in found["state"]) == ("do", 2, False)
        assert [(goal["goalId"], goal["status"]) for goal in found["state"]["goals"]] == [
            (land, "in_progress"),
            ("goal-start", "completed"),
        ]
        assert [(each["agentId"], each["status"]) for each in found["state"]["agents"]] == [
            (pilot, "active"),
            (scout, "failed"),
        ]
        (logged,), (said,) = found["actions"], found["responses"]
        assert (logged["eventId"], logged["idempotencyKey"]) == (first, first)
        assert (logged["timestamp"], logged["details"]) == ("2026-02-13T10:00:00.000Z", {"place": "Ølen"})
        assert (said["eventId"], said["type"], said["parentId"]) == (answered, "holdfast.response", first)

    async with HookAgent("tour", url=gateway.url) as again:
        assert again.resumed is not None
        resumed = again.resumed
        assert (resumed.session.user_id, resumed.session.metadata) == ("ada", {"a": 1})
        assert (resumed.state, resumed.version) == ({"phase": "do"}, 2)
        assert [(goal.goal_id, goal.description, goal.status) for goal in resumed.goals] == [
            (land, "land safely", "in_progress")
        ]
        assert [(each.agent_id, each.type, each.task) for each in resumed.agents] == [(pilot, "pilot", {"seat": 1})]
        assert [event.event_id for event in resumed.events if event.type == "search"] == [first]
        assert resumed.complete
        assert [event.seq for event in (await again.resume(2)).events] == [11, 12]
    assert spools(spool) == []


async def test_resume_has_what_was_logged_before_it(gateway: Running) -> None:
    async with HookAgent("reads-its-own", url=gateway.url) as agent:
        for n in range(20):
            await agent.update_state({"step": n})
            assert (await agent.resume(1)).state == {"step": n}


async def test_without_a_session_id_it_makes_one_and_says_so(
    gateway: Running, caplog: pytest.LogCaptureFixture
) -> None:
    async with HookAgent(url=gateway.url) as agent:
        assert agent.resumed is None
        await agent.log_action("a")
        await agent.flush()
        assert len(actions(gateway.url, agent.session_id)) == 1
    said = [record for record in caplog.records if agent.session_id in record.getMessage()]
    assert said[0].levelno == logging.WARNING  # so it is on stderr also where nobody set up any logging


async def test_a_session_that_is_not_there_cannot_be_resumed(gateway: Running) -> None:
    async with HookAgent("nobody", url=gateway.url) as agent:
        assert agent.resumed is None
        with pytest.raises(NotFound):
            await agent.resume()


async def test_the_environment_says_whom_to_report_to(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSION_ID", "from-environment")
    monkeypatch.setenv("SESSION_SERVICE_URL", gate.url + "/")
    monkeypatch.setenv("HOLDFAST_TOKEN", "hf_secret\n")
    async with HookAgent() as agent:
        await agent.log_action("a")
        await agent.update_state({"b": 1})
        await agent.flush()
    assert agent.session_id == "from-environment"
    assert {seen.headers["Authorization"] for seen in gate.seen} == {"Bearer hf_secret"}
    assert "hf_secret" not in repr(vars(agent._agent)["_settings"])
    assert HookAgent("s", url="http://127.0.0.1:1").session_id == "s"


async def test_connections_are_reused(gate: Gate) -> None:
    async with HookAgent("one-connection", url=gate.url) as agent:
        for n in range(20):
            await agent.log_action("a", {"n": n})
            await agent.flush()
    assert len(gate.seen) > 20
    assert len({seen.port for seen in gate.seen if seen.method == "POST"}) == 1


async def test_actions_that_wait_together_go_together(gate: Gate) -> None:
    async with HookAgent("batches", url=gate.url) as agent:
        for n in range(1000):
            await agent.log_action("a", {"n": n})
        await agent.log_response({"n": 1000})
        await agent.flush()
    assert len(gate.seen) < 50
    assert numbers(gate.url, "batches") == list(range(1000))
    assert ask(gate.url, "/api/sessions/batches")["responses"][0]["seq"] == 1001


async def test_an_agent_need_not_be_entered(gateway: Running) -> None:
    agent = HookAgent("not-entered", url=gateway.url)
    await agent.log_action("a")
    await agent.close()
    await agent.close()
    assert len(actions(gateway.url, "not-entered")) == 1


@pytest.mark.parametrize(
    ("url", "session_id", "token"),
    [
        ("ftp://localhost", "s", None),
        ("http://", "s", None),
        ("http://localhost:x", "s", None),
        ("http://ada:secret@localhost", "s", None),
        ("http://localhost", "no spaces", None),
        ("http://localhost", "..", None),
        ("http://localhost", "s", "hf_\nX-Other: 1"),
        ("http://localhost", "s", "hf_ü"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(url: str, session_id: str, token: str | None) -> None:
    with pytest.raises(InvalidInput) as refusal:
        HookAgent(session_id, url=url, token=token)
    assert "secret" not in refusal.value.message
    assert token is None or token not in refusal.value.message


async def test_a_call_that_the_service_could_never_take_is_refused_at_once(gateway: Running) -> None:
    async with HookAgent("strict", url=gateway.url) as agent:
        with pytest.raises(InvalidJson):
            await agent.log_action("a", {"n": float("nan")})
        with pytest.raises(InvalidJson):
            await agent.log_response({"n": object()})
        with pytest.raises(InvalidInput):
            await agent.log_action("holdfast.state_updated", {})
        with pytest.raises(InvalidInput):
            await agent.log_action("a", timestamp=-1)
        with pytest.raises(InvalidInput):
            await agent.update_state({"version": 7})
        with pytest.raises(InvalidInput):
            await agent.update_goal("g")
        with pytest.raises(InvalidInput):
            await agent.add_goal("g", status="done")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            await agent.add_goal("g", goal_id="a/b")
        with pytest.raises(InvalidInput):
            await agent.complete_agent("x", status="active")  # type: ignore[arg-type]
        with pytest.raises(TooLarge):
            await agent.log_action("a", "x" * 17_000_000)
        assert agent.spooled == 0


async def test_odd_names_arrive_as_they_are(gateway: Running) -> None:
    async with HookAgent("odd:id.x-1", url=gateway.url) as agent:
        goal = await agent.add_goal("ü", goal_id="ein Ziel? #1 %2F")
        await agent.update_goal(goal, "completed")
        helper = await agent.spawn_agent("x", agent_id="ä b")
        await agent.complete_agent(helper)
        await agent.flush()
    state = ask(gateway.url, "/api/state/odd:id.x-1")
    assert [(each["goalId"], each["status"]) for each in state["goals"]] == [("ein Ziel? #1 %2F", "completed")]
    assert [(each["agentId"], each["status"]) for each in state["agents"]] == [("ä b", "completed")]


async def test_without_a_folder_to_spool_to_it_does_not_pretend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolUnavailable):
        await HookAgent("s", spool=tmp_path / "file").log_action("a")


async def test_nobody_there_is_said_and_nothing_is_lost(spool: Path) -> None:
    async with HookAgent("away", url="http://127.0.0.1:1") as agent:
        assert agent.resumed is None
        assert not await agent.test_connection()
        await agent.log_action("a", {"n": 1})
        with pytest.raises(NotDelivered) as late:
            await agent.flush(0.1)
        assert late.value.details["spooled"] == 1
        with pytest.raises(NotDelivered):
            await agent.resume(timeout=0.1)
        assert agent.trouble is not None
    assert len(spools(spool)) == 1


async def test_nobody_there_cannot_be_asked() -> None:
    async with HookAgent("asks", url="http://127.0.0.1:1") as agent:
        with pytest.raises(ServiceAway):
            await agent.resume()


async def test_reporting_does_not_wait_for_a_service_that_hangs(gate: Gate) -> None:
    held = threading.Event()

    def hang(_seen: Seen) -> None:
        held.wait(10)

    gate.decide = hang
    agent = HookAgent("hangs", url=gate.url, timeout=0.2)
    async with asyncio.timeout(5):
        async with agent:
            for n in range(100):
                await agent.log_action("a", {"n": n})
            assert agent.spooled == 100
    held.set()
    gate.decide = let_through
    wait_until(lambda: leftovers.find(agent.spool) != [])  # the last attempt has ended, too
    async with HookAgent("hangs", url=gate.url) as again:
        assert again.resumed is not None
    assert numbers(gate.url, "hangs") == list(range(100))
