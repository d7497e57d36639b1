"""Version 0.3: who may do what, at a gateway that asks for tokens."""

import httpx2
import pytest
from tests.a2a.conformance.conftest import Guarded
from tests.a2a.conformance.holders import answer_in, ask, saying
from tests.a2a.conformance.speaker import Json
from tests.support.web import LOCAL

METHODS = {
    "message/send": saying("hello", "0.3"),
    "message/stream": saying("hello", "0.3"),
    "tasks/get": {"id": "nope"},
    "tasks/cancel": {"id": "nope"},
    "tasks/resubscribe": {"id": "nope"},
    "tasks/pushNotificationConfig/set": {"taskId": "nope", "pushNotificationConfig": {"url": "https://a.example"}},
    "tasks/pushNotificationConfig/get": {"id": "nope"},
    "tasks/pushNotificationConfig/list": {"id": "nope"},
    "tasks/pushNotificationConfig/delete": {"id": "nope", "pushNotificationConfigId": "p"},
    "agent/getAuthenticatedExtendedCard": None,
}


@pytest.mark.parametrize("method", METHODS)
def test_nobody_is_served_without_a_token(guarded: Guarded, method: str) -> None:
    """0.3 §4.4: every request is authenticated by its HTTP credentials, as the card declares it.
    0.3 §10.2: servers authenticate every request."""
    for token in (None, "nonsense", guarded.tokens["revoked"]):
        response = ask(guarded.url, token, method, METHODS[method])
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")


def test_the_extended_card_is_for_who_has_a_token(guarded: Guarded) -> None:
    """0.3 §7.10: the extended card is for authenticated clients, where the card offers it."""
    public = httpx2.get(guarded.url + "/.well-known/agent-card.json", **LOCAL).json()
    assert public["supportsAuthenticatedExtendedCard"] is True
    assert public["security"] == [{"bearer": []}]
    assert {name: public["securitySchemes"]["bearer"][name] for name in ("type", "scheme")} == {
        "type": "http",
        "scheme": "Bearer",
    }
    card = ask(guarded.url, guarded.tokens["ada"], "agent/getAuthenticatedExtendedCard").json()["result"]
    assert (card["name"], card["preferredTransport"]) == (public["name"], "JSONRPC")


@pytest.mark.parametrize("method", [name for name, params in METHODS.items() if params and "message" not in params])
def test_what_is_others_is_not_there(guarded: Guarded, method: str) -> None:
    """0.3 §4.6: requests are authorized by who makes them: a task of others is as one that is not there."""
    sent = ask(guarded.url, guarded.tokens["ada"], "message/send", saying("My name is Ada.", "0.3", "m-" + method))
    task: Json = sent.json()["result"]
    params = {name: task["id"] if value == "nope" else value for name, value in (METHODS[method] or {}).items()}
    assert answer_in(ask(guarded.url, guarded.tokens["other"], method, params))["error"]["code"] == -32001
