"""Version 1.0: the agent card."""

import pytest
from tests.a2a.conformance.speaker import Json, Speaker, request

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def card_of(speaker: Speaker) -> Json:
    """The public card."""
    response = await speaker.client.http.get(speaker.client.url + "/.well-known/agent-card.json")
    assert response.status_code == 200
    card: Json = response.json()
    return card


async def test_there_is_a_card(v10: Speaker) -> None:
    """1.0 §8.1: a server makes an agent card available.
    1.0 §14.3: the well-known address gives an agent card.
    1.0 §4.4: the card has its required members, and its required lists an element."""
    card = await card_of(v10)
    needed = {"name", "description", "version", "supportedInterfaces", "capabilities", "skills"}
    needed |= {"defaultInputModes", "defaultOutputModes"}
    assert {name for name in needed if not card.get(name)} == set()
    for skill in card["skills"]:
        assert all(skill[name] for name in ("id", "name", "description", "tags"))
    for each in card["supportedInterfaces"]:
        assert all(each[name] for name in ("url", "protocolBinding", "protocolVersion"))


async def test_the_card_names_what_is_spoken_and_where(v10: Speaker) -> None:
    """1.0 §5.2: the card names every protocol that is spoken.
    1.0 §8.3.1: each interface has its true protocol and URL: requests to it are met in its version."""
    interfaces = (await card_of(v10))["supportedInterfaces"]
    assert [(each["protocolBinding"], each["protocolVersion"]) for each in interfaces] == [
        ("JSONRPC", "1.0"),
        ("JSONRPC", "0.3"),
    ]
    for each, method in zip(interfaces, ["GetTask", "tasks/get"], strict=True):
        headers = {"A2A-Version": each["protocolVersion"]}
        asked = await v10.client.http.post(each["url"], json=request(method, {"id": "nope"}), headers=headers)
        assert asked.json()["error"]["code"] == -32001


async def test_versions_on_the_card_have_no_patch_number(v10: Speaker) -> None:
    """1.0 §3.6: versions are named by major and minor number."""
    versions = {each["protocolVersion"] for each in (await card_of(v10))["supportedInterfaces"]}
    assert versions == {"1.0", "0.3"}


async def test_what_the_card_offers_is_there(v10: Speaker) -> None:
    """1.0 §3.3.4: what is not declared as a capability is an error, and what is declared is there."""
    capabilities = (await card_of(v10))["capabilities"]
    assert (capabilities["streaming"], capabilities["pushNotifications"]) == (True, True)
    task = await v10.send("ask")
    assert (await v10.result("ListTaskPushNotificationConfigs", {"taskId": task["id"]})).get("configs", []) == []
    async with v10.stream("SubscribeToTask", {"id": task["id"]}) as stream:
        assert "task" in await stream.next()


async def test_an_extended_card_that_is_not_offered(v10: Speaker) -> None:
    """1.0 §3.3.4: without the capability extendedAgentCard asking for the extended card is UnsupportedOperationError.
    1.0 §13.3: without the capability the extended card is UnsupportedOperationError."""
    assert not (await card_of(v10))["capabilities"].get("extendedAgentCard")
    assert await v10.code("GetExtendedAgentCard") == -32004
    assert await v10.code("GetExtendedAgentCard", {}) == -32004
