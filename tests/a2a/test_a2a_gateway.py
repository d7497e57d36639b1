"""The official client against `holdfast serve` itself: the bundled agent, behind tokens, in both versions."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import httpx2
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import parse_agent_card
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as a2a
from tests.gateway.holders import Wanted, make_tokens
from tests.gateway.process import Running, running
from tests.support.web import LOCAL

CARD = "/.well-known/agent-card.json"


@pytest.fixture(scope="module")
def token() -> list[str]:
    return []


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, token: list[str]) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("data")
    token.extend(make_tokens(f"sqlite:///{data}/holdfast.db", {"ada": Wanted(["read", "write"])}).values())
    with running(data, "--a2a-card", "both") as made:
        yield made


@pytest.fixture(params=["1.0", "0.3"])
async def client(request: pytest.FixtureRequest, gateway: Running, token: list[str]) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token[0]}"}
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30, headers=headers) as http:
        card = (await http.get(gateway.url + CARD)).json()
        if request.param == "0.3":
            del card["supportedInterfaces"]
        yield ClientFactory(ClientConfig(httpx_client=http)).create(parse_agent_card(card))


def saying(text: str, context_id: str = "", *parts: a2a.Part) -> a2a.SendMessageRequest:
    words = [a2a.Part(text=text)] if text else []
    message = a2a.Message(
        message_id=uuid.uuid4().hex, context_id=context_id, role=a2a.ROLE_USER, parts=[*words, *parts]
    )
    return a2a.SendMessageRequest(message=message)


async def answered(client: Client, request: a2a.SendMessageRequest) -> a2a.Task:
    """The task of a message at the end of its stream."""
    items = [item async for item in client.send_message(request)]
    assert items[-1].status_update.status.state == a2a.TASK_STATE_COMPLETED
    return await client.get_task(a2a.GetTaskRequest(id=items[0].task.id))


def words(task: a2a.Task) -> str:
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


async def test_a_conversation_is_streamed_and_remembered(client: Client) -> None:
    first = await answered(client, saying("Hi, my name is Ada."))
    second = await answered(client, saying("What's my name?", first.context_id))
    assert "Ada" in words(second)
    assert second.context_id == first.context_id


async def test_a_file_is_sent_and_named(client: Client) -> None:
    file = a2a.Part(raw=b"the moon is far", filename="moon.txt", media_type="text/plain")
    task = await answered(client, saying("", "", file))
    assert "moon.txt" in words(task)
    assert task.history[0].parts[0].raw == b"the moon is far"


async def test_a_turn_is_left_followed_again_and_cancelled(client: Client) -> None:
    stream = client.send_message(saying("Think for 50 seconds."))
    task = (await anext(stream)).task
    await stream.aclose()  # type: ignore[attr-defined]
    again = client.subscribe(a2a.SubscribeToTaskRequest(id=task.id))
    assert (await anext(again)).task.id == task.id
    canceled = await client.cancel_task(a2a.CancelTaskRequest(id=task.id))
    assert canceled.status.state == a2a.TASK_STATE_CANCELED
    rest = [item async for item in again]
    assert rest[-1].status_update.status.state == a2a.TASK_STATE_CANCELED


async def test_nobody_talks_without_a_token_and_the_card_says_so(gateway: Running) -> None:
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as http:
        client = await ClientFactory(ClientConfig(httpx_client=http)).create_from_url(gateway.url)
        with pytest.raises(A2AClientError, match="401"):
            await anext(client.send_message(saying("hi")))
        card = parse_agent_card((await http.get(gateway.url + CARD)).json())
    assert card.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
    assert [list(needed.schemes) for needed in card.security_requirements] == [["bearer"]]


def test_the_card_names_the_address_and_the_version_that_the_operator_chose(tmp_path: Path) -> None:
    with running(tmp_path, "--a2a-card", "0.3", "--url", "https://agents.example/") as gateway:
        card = httpx2.get(gateway.url + CARD, headers={"X-Forwarded-Proto": "ftp"}, **LOCAL).json()
    assert card["url"] == "https://agents.example/a2a"
    assert card["protocolVersion"] == "0.3.0"
    assert "supportedInterfaces" not in card
    assert "securitySchemes" not in card
