"""Version 1.0: who may do what, at a gateway that asks for tokens."""

import httpx2
import pytest
from tests.a2a.conformance.conftest import Guarded
from tests.a2a.conformance.holders import answer_in, ask, saying
from tests.a2a.conformance.speaker import Json
from tests.support.web import LOCAL

HOOK = "https://hooks.example/1"
ABOUT = ["GetTask", "CancelTask", "SubscribeToTask"]
PUSH = [
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
]
METHODS = ["SendMessage", "SendStreamingMessage", "ListTasks", "GetExtendedAgentCard", *ABOUT, *PUSH]


def about(method: str, task_id: str) -> Json:
    """Params that a method takes."""
    if method.startswith("Send"):
        return saying("hello", "1.0")
    if method in PUSH:
        return {"taskId": task_id, "id": "p"} | ({"url": HOOK} if method.startswith("Create") else {})
    return {"id": task_id} if method in ABOUT else {}


@pytest.fixture(scope="module")
def task(guarded: Guarded) -> Json:
    """A task of Ada's."""
    response = ask(guarded.url, guarded.tokens["ada"], "SendMessage", saying("My name is Ada.", "1.0", "m-task"))
    made: Json = response.json()["result"]["task"]
    return made


@pytest.mark.parametrize("method", METHODS)
def test_nobody_is_served_without_a_token(guarded: Guarded, task: Json, method: str) -> None:
    """1.0 §7.4: every request is authenticated as the card declares it.
    1.0 §3.3.2: missing or wrong credentials are refused.
    1.0 §14.1.1: authentication and authorization are enforced as section 7 says."""
    for token in (None, "nonsense", guarded.tokens["revoked"]):
        response = ask(guarded.url, token, method, about(method, task["id"]))
        assert response.status_code == 401
        assert "www-authenticate" in response.headers
        assert task["id"] not in response.text


def test_the_card_says_how_to_authenticate(guarded: Guarded) -> None:
    """1.0 §4.5: a security scheme on the card has its required members, and the requirements name it."""
    card = httpx2.get(guarded.url + "/.well-known/agent-card.json", **LOCAL).json()
    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert [set(each["schemes"]) for each in card["securityRequirements"]] == [{"bearer"}]


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage", "CancelTask", PUSH[0], PUSH[3]])
def test_who_may_only_read_changes_nothing(guarded: Guarded, task: Json, method: str) -> None:
    """1.0 §3.3.2: who lacks a permission is told so by an authorization error.
    1.0 §13.1: every operation is looked at for whether the caller may do it."""
    response = ask(guarded.url, guarded.tokens["reader"], method, about(method, task["id"]))
    assert response.status_code == 403


@pytest.mark.parametrize("method", [*ABOUT, *PUSH])
def test_what_is_others_is_not_there(guarded: Guarded, task: Json, method: str) -> None:
    """1.0 §13.1: getting, cancelling, following and push configurations are only for who may see the task.
    1.0 §3.3.2: that a resource exists is not told to those who may not see it: both answers are the same."""
    theirs = answer_in(ask(guarded.url, guarded.tokens["other"], method, about(method, task["id"])))
    nobodys = answer_in(ask(guarded.url, guarded.tokens["other"], method, about(method, "nope")))
    assert theirs["error"]["code"] == nobodys["error"]["code"] == -32001
    assert theirs["error"]["message"].replace(task["id"], "nope") == nobodys["error"]["message"]


def test_a_message_to_anothers_task_is_refused(guarded: Guarded, task: Json) -> None:
    """1.0 §13.1: a message cannot go to a task that the caller may not see."""
    params = saying("hello", "1.0", "m-other")
    params["message"]["taskId"] = task["id"]
    assert ask(guarded.url, guarded.tokens["other"], "SendMessage", params).json()["error"]["code"] == -32001


@pytest.mark.parametrize("named", [True, False])
def test_a_list_has_only_what_the_caller_may_see(guarded: Guarded, task: Json, named: bool) -> None:
    """1.0 §13.1: a list has only the tasks that the caller may see, with filters and without.
    1.0 §3.1.4: ListTasks returns only tasks that the client may see."""
    params = {"contextId": task["contextId"]} if named else {}
    mine = ask(guarded.url, guarded.tokens["ada"], "ListTasks", params).json()["result"]
    theirs = ask(guarded.url, guarded.tokens["other"], "ListTasks", params).json()["result"]
    assert task["id"] in [each["id"] for each in mine["tasks"]]
    assert (theirs["tasks"], theirs["totalSize"]) == ([], 0)


def test_the_extended_card_is_for_who_has_a_token(guarded: Guarded) -> None:
    """1.0 §3.1.11: the extended card is for authenticated clients, where the card offers it.
    1.0 §13.3: GetExtendedAgentCard asks for the credentials that the card declares.
    1.0 §14.3: the extended card is guarded by access control."""
    public = httpx2.get(guarded.url + "/.well-known/agent-card.json", **LOCAL).json()
    assert public["capabilities"]["extendedAgentCard"] is True
    for token in (None, "nonsense"):
        assert ask(guarded.url, token, "GetExtendedAgentCard").status_code == 401
    for name in ("ada", "reader"):
        card = ask(guarded.url, guarded.tokens[name], "GetExtendedAgentCard").json()["result"]
        assert card["name"] == public["name"]
        assert card["supportedInterfaces"]
