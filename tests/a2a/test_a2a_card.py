"""The card: what it offers is there, and clients need not fetch it again and again."""

from email.utils import formatdate, parsedate_to_datetime
from typing import Any

import httpx2
import pytest
from tests.a2a.harness import Client, running, tell

from holdfast.store import Store

CARD = "/.well-known/agent-card.json"
EXTENDED = {"1.0": "GetExtendedAgentCard", "0.3": "agent/getAuthenticatedExtendedCard"}


async def card(client: Client, **headers: str) -> httpx2.Response:
    return await client.http.get(client.url + CARD, headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize("wire", ["1.0", "0.3"])
async def test_the_extended_card_is_for_those_who_say_who_they_are(store: Store, wire: str) -> None:
    """Where nobody is asked for a token the card does not offer another, and asking for it is the standard's error."""

    def offered(found: dict[str, Any]) -> bool:
        said: bool = (
            found["capabilities"]["extendedAgentCard"] if wire == "1.0" else found["supportsAuthenticatedExtendedCard"]
        )
        return said

    for asks in (True, False):
        async with running(store, tell, asks_for_token=asks, card=wire) as client:
            public = (await card(client)).json()
            answer = await client.call(EXTENDED[wire], {}, wire)
        assert offered(public) is asks
        if asks:
            assert offered(answer["result"])
            assert answer["result"]["name"] == public["name"]
        else:
            assert answer["error"]["code"] == {"1.0": -32004, "0.3": -32007}[wire]


async def test_a_card_may_be_kept_and_asked_after(store: Store) -> None:
    async with running(store, tell) as client:
        first = await card(client)
        tag, changed = first.headers["etag"], first.headers["last-modified"]
        assert "max-age=" in first.headers["cache-control"]
        assert parsedate_to_datetime(changed) <= parsedate_to_datetime(formatdate(usegmt=True))
        day_before = formatdate(parsedate_to_datetime(changed).timestamp() - 86_400, usegmt=True)
        known: list[dict[str, str]] = [
            {"If_None_Match": tag},
            {"If_None_Match": f'"x", W/{tag}'},
            {"If_None_Match": "*"},
            {"If_Modified_Since": changed},
            {"If_None_Match": tag, "If_Modified_Since": day_before},
        ]
        for conditions in known:
            answer = await card(client, **conditions)
            assert (answer.status_code, answer.content) == (304, b""), conditions
            assert {answer.headers[name] for name in ("etag", "last-modified")} == {tag, changed}
            assert answer.headers["cache-control"] == first.headers["cache-control"]
        for conditions in (
            {"If_None_Match": '"x"'},
            {"If_None_Match": "nonsense"},
            {"If_Modified_Since": day_before},
            {"If_Modified_Since": "yesterday"},
            {"If_Modified_Since": ""},
            {"If_None_Match": '"x"', "If_Modified_Since": changed},
        ):
            assert (await card(client, **conditions)).content == first.content, conditions
        head = await client.http.head(client.url + CARD)
        assert (head.headers["etag"], head.content) == (tag, b"")
        assert (await client.http.get(client.url + "/agent-card")).headers["etag"] == tag


async def test_another_card_has_another_tag(store: Store) -> None:
    async with running(store, tell, name="one") as client:
        tag = (await card(client)).headers["etag"]
    async with running(store, tell, name="two") as client:
        assert (await card(client, If_None_Match=tag)).json()["name"] == "two"
    async with running(store, tell, name="one") as client:
        assert (await card(client, If_None_Match=tag)).status_code == 304, "the tag outlives the process"
