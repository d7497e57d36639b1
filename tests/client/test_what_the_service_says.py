"""What is an acknowledgement, what a refusal, and what only means: not now."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.client.gate import Answer, Gate, Seen, let_through, problem
from tests.client.looking import actions, numbers
from tests.gateway.process import Running, running
from tests.support.eventually import wait_until

from holdfast.client import EntriesRefused, HookAgent, HookAgentBlocking, NotDelivered, ServiceRefused
from holdfast.core.errors import SessionGone
from holdfast.store import open_store

ACKNOWLEDGED = Answer(201, b'{"ok": true}', (("Content-Type", "application/json"),))


def refused_lines(spool: Path) -> list[dict[str, object]]:
    """What was set aside."""
    return [json.loads(line) for line in (spool / "refused.jsonl").read_text().splitlines()]


async def test_an_entry_that_can_never_be_taken_does_not_stop_those_behind(
    gateway: Running, spool: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with HookAgent("poison", url=gateway.url) as agent:
        for n in range(100):
            parent = "nobody" if n in {17, 18, 60} else None
            await agent.log_action("step", {"n": n}, parent_id=parent)
        await agent.update_goal("no-such-goal", "completed")
        await agent.log_action("step", {"n": 100})
        with pytest.raises(EntriesRefused) as refusal:
            await agent.flush()
        assert (refusal.value.details["refused"], agent.refused, agent.spooled) == (4, 4, 0)
        assert refusal.value.details["file"] == str(spool / "refused.jsonl")
        await agent.flush()  # it is said once
    assert numbers(gateway.url, "poison") == [n for n in range(101) if n not in {17, 18, 60}]
    found = refused_lines(spool)
    assert [line["problem"]["code"] for line in found] == ["invalid_input"] * 3 + ["not_found"]  # type: ignore[index]
    assert [line["entry"]["body"].get("details") for line in found] == [{"n": 17}, {"n": 18}, {"n": 60}, None]  # type: ignore[index]
    assert "nobody" in caplog.text


async def test_a_session_that_was_described_otherwise_stays_as_it_was(gateway: Running) -> None:
    async with HookAgent("described", url=gateway.url) as agent:
        await agent.create_session("ada")
        await agent.create_session("ada")
        await agent.flush()
        await agent.create_session("bob")
        with pytest.raises(EntriesRefused) as refusal:
            await agent.flush()
        assert refusal.value.details["problem"]["code"] == "conflict"
        assert (await agent.resume()).session.user_id == "ada"


def deleted(gate: Gate, session_id: str) -> None:
    assert gate.forward(Seen("DELETE", f"/api/sessions/{session_id}", {}, b"", 0)).status == 200


def test_a_deleted_session_takes_nothing_and_says_so(gate: Gate) -> None:
    with HookAgentBlocking("deleted", url=gate.url) as agent:
        agent.log_action("a")
        agent.flush()
        deleted(gate, "deleted")
        agent.log_action("b")
        with pytest.raises(EntriesRefused) as refusal:
            agent.flush()
        assert refusal.value.details["problem"]["code"] == "session_gone"
        with pytest.raises(SessionGone):
            agent.resume()
    with HookAgentBlocking("deleted", url=gate.url) as again:
        assert again.resumed is None


@pytest.mark.parametrize("seconds", ["1", "date"])
def test_too_many_requests_waits_as_long_as_it_is_told(gate: Gate, seconds: str) -> None:
    session_id = f"busy-{seconds}"
    told: list[float] = []
    came: list[float] = []

    def once_too_many(seen: Seen) -> Answer | None:
        came.append(time.monotonic())
        if told:
            return None
        told.append(time.monotonic())
        when = seconds if seconds == "1" else time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2))
        return problem(429, "too_many_requests", Retry_After=when)

    agent = HookAgentBlocking(session_id, url=gate.url)
    gate.decide = once_too_many
    agent.log_action("step", {"n": 0})
    agent.flush(30)
    assert agent.refused == 0
    assert all(next_one - said > 0.99 for said, next_one in zip(told, came[1:], strict=True))
    agent.close()
    assert numbers(gate.url, session_id) == [0]


def test_closing_does_not_ask_before_it_may(gate: Gate) -> None:
    gate.decide = lambda _seen: problem(429, "too_many_requests", Retry_After="60")
    agent = HookAgentBlocking("told-to-wait", url=gate.url)
    agent.log_action("step")
    wait_until(lambda: agent.trouble is not None)
    agent.close()
    assert len(gate.seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        problem(401, "unauthorized"),
        problem(403, "forbidden"),
        problem(404, "no_route"),
        problem(409, "session_arriving"),
        problem(421, "wrong_host"),
        problem(429, "too_many_requests", Retry_After="0"),
        problem(500, "internal"),
        problem(503, "busy", Retry_After="0"),
        problem(507, "storage_full"),
        Answer(302, b"", (("Location", "/login"),)),
        Answer(400, b"<html>not you</html>"),
        Answer(404, b'{"detail":"Not Found"}'),
        Answer(410, b"gone fishing"),
        Answer(502, b"bad gateway"),
        Answer(200, b"<html>welcome</html>"),
        Answer(200, b'{"seqs":[]}'),
        Answer(204),
        ACKNOWLEDGED,
    ],
    ids=lambda answer: f"{answer.status}-{answer.body[-12:].decode()}",
)
def test_what_is_no_verdict_on_the_entry_only_means_not_now(gate: Gate, answer: Answer) -> None:
    session_id = f"later-{answer.status}-{len(answer.body)}"
    left = [answer] * 2

    def first_so(_seen: Seen) -> Answer | None:
        return left.pop() if left else None

    agent = HookAgentBlocking(session_id, url=gate.url)
    gate.decide = first_so
    agent.log_action("step", {"n": 0})
    agent.update_state({"n": 1})
    agent.flush(30)
    assert (agent.refused, left, agent.trouble) == (0, [], None)
    assert numbers(gate.url, session_id) == [0]
    agent.close()


def test_a_proxy_that_takes_only_small_bodies_gets_small_ones(gate: Gate, spool: Path) -> None:
    gate.decide = lambda seen: Answer(413, b"<html>too large</html>") if len(seen.body) > 5_000 else None
    with HookAgentBlocking("small", url=gate.url) as agent:
        for n in range(100):
            agent.log_action("step", {"n": n, "text": "x" * (6_000 if n == 50 else 500)})
        with pytest.raises(EntriesRefused):
            agent.flush(30)
        assert agent.refused == 1
    assert numbers(gate.url, "small") == [n for n in range(100) if n != 50]
    assert len(refused_lines(spool)) == 1


def test_a_service_too_slow_for_large_batches_gets_smaller_ones(gate: Gate) -> None:
    def slow(seen: Seen) -> None:
        time.sleep(0.01 * seen.body.count(b"\n"))

    gate.decide = slow
    with HookAgentBlocking("slow", url=gate.url, timeout=0.4) as agent:
        for n in range(100):
            agent.log_action("step", {"n": n})
        agent.flush(30)
    gate.decide = let_through
    assert numbers(gate.url, "slow") == list(range(100))


async def test_a_token_is_needed_and_sent(tmp_path: Path) -> None:
    async with await open_store(f"sqlite:///{tmp_path}/data/holdfast.db") as store:
        _, both = await store.tokens.create("both", ["read", "write"])
        _, reader = await store.tokens.create("reader", ["read"])
    with running(tmp_path / "data") as service:
        with HookAgentBlocking("guarded", url=service.url, token=both) as agent:
            assert agent.test_connection()
            agent.log_action("step", {"n": 1})
            agent.flush()
            assert len(agent.resume().events) == 1
        for wrong, status in (("hf_wrong", 401), (reader, 403)):
            with HookAgentBlocking("guarded", url=service.url, token=wrong) as agent:
                assert not agent.test_connection()
                agent.log_action("step", {"n": status})
                with pytest.raises(NotDelivered):
                    agent.flush(0.2)
                assert str(status) in (agent.trouble or "")
                assert agent.refused == 0
        useless = HookAgentBlocking("guarded-2", url=service.url, token="hf_wrong")
        with pytest.raises(ServiceRefused) as refusal:
            useless.resume()
        assert refusal.value.details["problem"]["code"] == "unauthorized"
        with HookAgentBlocking("guarded", url=service.url, token=both) as agent:  # nor is it in the way
            assert [event.details["n"] for event in agent.resume().events] == [1, 401, 403]
        useless.close()


def test_the_gate_tells_the_truth(gate: Gate) -> None:
    """What the other tests stand on: the gate changes nothing on the way."""
    decide: Callable[[Seen], None] = let_through
    gate.decide = decide
    with HookAgentBlocking("through", url=gate.url) as agent:
        agent.log_action("ü", {"text": "é\n☃"})
        agent.flush()
    assert actions(gate.url, "through")[0]["details"] == {"text": "é\n☃"}
