"""One agent asks another over A2A: only those that are allowed, and in a conversation that the other remembers."""

import asyncio
from pathlib import Path

import pytest
from tests.a2a.harness import Gate, running
from tests.runtime.desk import Conversation, tool_round
from tests.support.scripted_server import Answer, endpoint

from holdfast.core.errors import InvalidInput
from holdfast.models import CompletionResponse, ScriptedBackend, SimulatorBackend
from holdfast.runtime import Peers, bundled_agent
from holdfast.runtime.peer_wire import HOPS
from holdfast.runtime.peers import MAX_HOPS, PeerNotAllowed
from holdfast.store import Store, open_store

ALLOWED = "http://peer.example:9000/agents/b"


async def asked(talk: Conversation, url: str, text: str = "Hello", metadata: dict[str, int] | None = None) -> str:
    """What the tool gives."""
    script = ScriptedBackend([tool_round(("ask_agent", {"url": url, "text": text})), CompletionResponse("ok")])
    talk.backend = script
    await talk.say("go", metadata=metadata)
    return script.invocations[-1].messages[-1].text


async def test_a_peer_is_asked_and_remembers_in_the_same_conversation(store: Store, workspace: Path) -> None:
    async with (
        await open_store(f"sqlite:///{workspace.parent}/peer/holdfast.db") as peer_store,
        running(peer_store, bundled_agent(SimulatorBackend()), workspace=workspace) as peer,
    ):
        url = peer.url + "/a2a"
        talk = Conversation(store, workspace, SimulatorBackend(), peers=Peers((peer.url,)))
        assert "Nice to meet you, Ada" in await talk.say(f"Ask the agent at {url}: my name is Ada.")
        assert "Your name is Ada." in await talk.say(f"Ask the agent at {url}: what is my name?")
        other = Conversation(store, workspace, SimulatorBackend(), "other", peers=Peers((peer.url,)))
        assert "do not know" in await other.say(f"Ask the agent at {url}: what is my name?")
        sessions = (await peer_store.sessions.list()).sessions
        assert len(sessions) == 2
        assert all("a2a:peer-" in session.session_id for session in sessions)


async def test_an_agent_that_is_not_allowed_is_not_asked(store: Store, workspace: Path) -> None:
    with endpoint() as server:
        talk = Conversation(store, workspace, SimulatorBackend())
        assert "may not ask" in await asked(talk, server.origin)
        assert server.requests == []
        talk.peers = Peers((server.origin,))
        assert "does not go on" in await asked(talk, server.origin, metadata={HOPS: MAX_HOPS})
        assert server.requests == []
        await asked(talk, server.origin, metadata={HOPS: 1})
    ((_, headers, sent),) = server.requests
    assert headers["a2a-version"] == "1.0"
    assert sent["params"]["message"]["metadata"] == {HOPS: 2}


@pytest.mark.parametrize("url", [ALLOWED, ALLOWED + "/", ALLOWED + "/a2a", "HTTP://PEER.example:9000/agents/b?x=1"])
def test_what_begins_with_an_allowed_url_is_allowed(url: str) -> None:
    Peers(("https://other.example", ALLOWED + "/")).check(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "peer.example",
        "http://peer.example:9000/agents/bad",
        "http://peer.example:9000/agents",
        "http://peer.example:9001/agents/b",
        "http://peer.example/agents/b",
        "https://peer.example:9000/agents/b",
        "http://peer.example:9000@evil.example/agents/b",
        "http://user@peer.example:9000/agents/b",
        "http://peer.example:9000/agents/b/../c",
        "http://peer.example:9000/agents/b/..",
        "http://peer.example:9000/agents/b/%2e%2e/c",
        "http://peer.example:9000/agents/b//c",
        "http://peer.example:9000\\@evil.example/agents/b",
        "http://peer.example:9000 /agents/b",
        "http://peer.example:port/agents/b",
        "http://[::1/agents/b",
        "file:///agents/b",
    ],
)
def test_any_other_url_is_refused(url: str) -> None:
    with pytest.raises(PeerNotAllowed):
        Peers((ALLOWED,)).check(url)


@pytest.mark.parametrize("prefix", ["", "peer:9000", "http://", "http://user@peer.example", "ftp://peer.example"])
def test_what_is_allowed_must_be_a_url(prefix: str) -> None:
    with pytest.raises(InvalidInput):
        Peers((prefix,))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(b"<html>", 502), "answered 502, and not as A2A does"),
        (Answer(b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"no luck"}}'), "no luck"),
        (Answer(b"[]"), "not as A2A does"),
        (Answer(b"{", cut=True), "no answer from"),
        (Answer(status=307, headers={"location": "http://127.0.0.1:1/"}), "answered 307"),
        (
            Answer(
                b'{"result":{"task":{"id":"t","status":{"state":"TASK_STATE_FAILED","message":{"parts":[{"text":"oh"}]}}}}}'
            ),
            "gave no answer (TASK_STATE_FAILED): oh",
        ),
    ],
)
async def test_a_peer_that_fails_is_told_to_the_model(store: Store, workspace: Path, answer: Answer, said: str) -> None:
    with endpoint(answer) as server:
        talk = Conversation(store, workspace, SimulatorBackend(), peers=Peers((server.origin,)))
        told = await asked(talk, server.origin)
    assert told.startswith("error: ")
    assert said in told


async def test_plain_messages_questions_back_and_data_are_understood(store: Store, workspace: Path) -> None:
    told = []
    for body in (
        b'{"result":{"message":{"parts":[{"text":"hi"},{"data":{"a":1}}]}}}',
        b'{"result":{"task":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"parts":[{"text":"who?"}]}}}}}',
    ):
        with endpoint(Answer(body)) as server:
            talk = Conversation(store, workspace, SimulatorBackend(), server.origin[-5:], peers=Peers((server.origin,)))
            told.append(await asked(talk, server.origin))
    assert told == ['hi\n{"a":1}', "the agent asks back: who?"]


async def test_what_a_peer_said_while_it_was_at_work_is_no_part_of_its_answer(store: Store, workspace: Path) -> None:
    note = b'"message":{"parts":[{"text":"thinking"}]}'
    with endpoint(
        Answer(b'{"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING",%s}}}}' % note),
        Answer(
            b'{"result":{"id":"t","status":{"state":"TASK_STATE_COMPLETED",%s},"artifacts":[{"parts":[{"text":"42"}]}]}}'
            % note
        ),
    ) as server:
        talk = Conversation(store, workspace, SimulatorBackend(), peers=Peers((server.origin,)))
        assert await asked(talk, server.origin) == "42"


async def test_a_cancelled_turn_does_not_wait_for_its_peer(store: Store, workspace: Path) -> None:
    gate = Gate()
    async with running(store, gate, agent="peer") as peer:
        talk = Conversation(store, workspace, SimulatorBackend(), peers=Peers((peer.url,)))
        turn = await talk.turn(f"Ask the agent at {peer.url}/a2a: hello")
        waiting = asyncio.create_task(talk.answer(turn))
        await gate.seen(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        (left,) = await store.effects.unresolved("s")
        assert left.tool == "ask_agent"
        gate.let(1)


async def test_no_proxy_of_the_environment_stands_before_a_peer_on_this_machine(
    store: Store, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    with endpoint() as server:
        talk = Conversation(store, workspace, SimulatorBackend(), peers=Peers((server.origin,)))
        await asked(talk, server.origin)
    assert len(server.requests) == 1
