"""Version 0.3: the agent card, as `--a2a-card both` gives it."""

import pytest
from tests.a2a.conformance.speaker import Json, Speaker, request

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def card_of(speaker: Speaker) -> Json:
    """The public card."""
    card: Json = (await speaker.client.http.get(speaker.client.url + "/.well-known/agent-card.json")).json()
    return card


async def test_there_is_a_card(v03: Speaker) -> None:
    """0.3 §5.1: a server makes an agent card available.
    0.3 §11.1.1: the card is valid: it has its required members."""
    card = await card_of(v03)
    needed = {"protocolVersion", "name", "description", "url", "preferredTransport", "version", "capabilities"}
    needed |= {"defaultInputModes", "defaultOutputModes", "skills"}
    assert {name for name in needed if not card.get(name)} == set()
    assert card["protocolVersion"].startswith("0.3")
    for skill in card["skills"]:
        assert all(skill[name] for name in ("id", "name", "description", "tags"))


async def test_the_main_address_speaks_the_preferred_transport(v03: Speaker) -> None:
    """0.3 §5.6.1: url is the agent's main address, and preferredTransport, which is there, is spoken at it.
    0.3 §5.6.4: preferredTransport is there and available at url, and no address has two transports.
    0.3 §3.4.2: the card declares every transport."""
    card = await card_of(v03)
    assert card["preferredTransport"] == "JSONRPC"
    answer = await v03.client.http.post(card["url"], json=request("tasks/get", {"id": "nope"}))
    assert answer.json()["error"]["code"] == -32001
    others = card.get("additionalInterfaces", [])
    assert {each["transport"] for each in others if each["url"] == card["url"]} <= {"JSONRPC"}


async def test_what_the_card_offers_is_there(v03: Speaker) -> None:
    """0.3 §11.1.3: optional methods go with their capabilities on the card."""
    card = await card_of(v03)
    assert (card["capabilities"]["streaming"], card["capabilities"]["pushNotifications"]) == (True, True)
    assert card["supportsAuthenticatedExtendedCard"] is False
    assert await v03.code("agent/getAuthenticatedExtendedCard") == -32007
