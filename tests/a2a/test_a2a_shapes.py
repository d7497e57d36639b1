"""What we write, the official SDK's own types read, and the other way round: 1.0 as ProtoJSON, 0.3 as its models."""

from typing import Any

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.compat.v0_3 import types as old
from a2a.types import a2a_pb2 as new
from a2a.utils.errors import A2A_ERROR_REASONS, JSON_RPC_ERROR_CODE_MAP
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message as Proto
from pydantic import BaseModel

from holdfast.a2a.protocol import v03, v10
from holdfast.a2a.protocol.card import AgentDescription, Form, agent_card
from holdfast.a2a.protocol.rpc import REASONS, RpcError
from holdfast.a2a.protocol.wire import (
    Artifact,
    ArtifactUpdate,
    DataPart,
    FilePart,
    ListRequest,
    Message,
    News,
    PushConfig,
    PushRequest,
    Role,
    StatusUpdate,
    TaskPage,
    TaskRequest,
    TaskView,
    TextPart,
)
from holdfast.core import TaskState

NOW = 1_771_000_000_123
PARTS = (
    TextPart("words\u2028", {"k": "v"}, "text/markdown"),
    DataPart({"whole": 1, "real": 1.5, "none": None}),
    DataPart([1, None, "x"], {"k": 2}),
    DataPart(None),
    FilePart(raw="AAE=", filename="a.bin", media_type="application/x"),
    FilePart(url="https://files.example/b.txt"),
)
ASKED = Message(Role.USER, "m1", PARTS, "c", "t", ("t0",), {"from": "a test"})
SAID = Message(Role.AGENT, "m2", (TextPart("wait"),), "c", "t")
BARE = Message(Role.AGENT, "m3", (TextPart("plain"),), "c")
RESULT = Artifact(PARTS, "a1", "report", "all of it", {"pages": 2})
VIEW = TaskView(
    "t", "c", TaskState.INPUT_REQUIRED, NOW, SAID, (RESULT, Artifact((TextPart("more"),), "a2")), (ASKED, SAID)
)
NEWS: list[News] = [
    VIEW,
    TaskView("t", "c", TaskState.SUBMITTED, NOW),
    BARE,
    ASKED,
    StatusUpdate("t", "c", TaskState.WORKING, NOW),
    StatusUpdate("t", "c", TaskState.FAILED, NOW, SAID, final=True),
    ArtifactUpdate("t", "c", RESULT),
    ArtifactUpdate("t", "c", RESULT, append=True, last_chunk=True),
]
CONFIGS = [
    PushConfig("https://hooks.example/1"),
    PushConfig("https://hooks.example/2", "p1", "secret", "Bearer", "abc"),
    PushConfig("https://hooks.example/3", "p2", scheme="Bearer"),
]
OLD_KINDS: dict[type, type[BaseModel]] = {
    TaskView: old.Task,
    Message: old.Message,
    StatusUpdate: old.TaskStatusUpdateEvent,
    ArtifactUpdate: old.TaskArtifactUpdateEvent,
}
FORMS: list[Form] = ["1.0", "0.3", "both"]


def read_new(document: dict[str, Any], kind: type[Proto]) -> dict[str, Any]:
    """A document of 1.0 after a journey through the official types, which refuse names that are not theirs."""
    read: dict[str, Any] = MessageToDict(ParseDict(document, kind()))
    return read


def read_old(document: Any, kind: type[BaseModel]) -> Any:
    """A document of 0.3 after a journey through the official types."""
    return kind.model_validate(document).model_dump(by_alias=True, exclude_unset=True, mode="json")


@pytest.mark.parametrize("item", NEWS, ids=lambda item: type(item).__name__)
def test_news_are_read_by_the_official_types(item: News) -> None:
    assert read_new(v10.news(item), new.StreamResponse) == v10.news(item)
    assert read_old(v03.news(item), OLD_KINDS[type(item)]) == v03.news(item)


@pytest.mark.parametrize("state", TaskState)
def test_every_state_is_one_of_theirs(state: TaskState) -> None:
    view = TaskView("t", "c", state, NOW)
    assert read_new(v10.task(view), new.Task) == v10.task(view)
    assert read_old(v03.task(view), old.Task) == v03.task(view)


def test_a_plain_message_has_no_null_in_it() -> None:
    assert v10.send_result(BARE) == {
        "message": {"messageId": "m3", "contextId": "c", "role": "ROLE_AGENT", "parts": [{"text": "plain"}]}
    }
    assert v03.send_result(BARE) == {
        "kind": "message",
        "messageId": "m3",
        "role": "agent",
        "contextId": "c",
        "parts": [{"kind": "text", "text": "plain"}],
    }


def test_a_message_survives_the_way_through_either_version() -> None:
    asked = Message(Role.USER, "m1", PARTS, "c", "t", ("t0",), {"from": "a test"})
    assert v10.send_request({"message": v10.message(asked)}).message == asked
    without_kinds = Message(Role.USER, "m1", (TextPart("words\u2028", {"k": "v"}), *PARTS[1:]), "c", "t", ("t0",))
    assert v03.send_request({"message": v03.message(without_kinds)}).message == without_kinds


def test_requests_that_the_official_client_makes_are_read() -> None:
    config = new.TaskPushNotificationConfig(
        url="https://hooks.example/2",
        id="p1",
        token="secret",
        authentication=new.AuthenticationInfo(scheme="Bearer", credentials="abc"),
    )
    sent = new.SendMessageRequest(
        tenant="ignored",
        message=new.Message(message_id="m1", role=new.ROLE_USER, parts=[new.Part(raw=b"\0\1", filename="a.bin")]),
        configuration=new.SendMessageConfiguration(
            accepted_output_modes=["text/plain"],
            history_length=0,
            return_immediately=True,
            task_push_notification_config=config,
        ),
    )
    request = v10.send_request(MessageToDict(sent))
    assert request.message.parts == (FilePart(raw="AAE=", filename="a.bin"),)
    assert (request.wait, request.history_length, request.push) == (False, 0, CONFIGS[1])

    old_config = old.PushNotificationConfig(
        url="https://hooks.example/2",
        id="p1",
        token="secret",
        authentication=old.PushNotificationAuthenticationInfo(schemes=["Bearer", "Basic"], credentials="abc"),
    )
    part = old.Part(root=old.TextPart(text="hello"))
    old_sent = old.MessageSendParams(
        message=old.Message(message_id="m1", role=old.Role.user, parts=[part]),
        configuration=old.MessageSendConfiguration(blocking=False, push_notification_config=old_config),
    )
    old_request = v03.send_request(old_sent.model_dump(by_alias=True, mode="json"))
    assert old_request.message.parts == (TextPart("hello"),)
    assert old_request.push is not None
    assert (old_request.wait, old_request.push.version, old_request.push.scheme) == (False, "0.3", "Bearer")


def test_bytes_may_come_in_every_spelling_that_protojson_allows() -> None:
    for raw in ("+/8A", "-_8A", "+/8", "-_8="):
        request = v10.send_request({"message": v10.message(ASKED) | {"parts": [{"raw": raw}]}})
        assert request.message.parts in ((FilePart(raw="+/8A"),), (FilePart(raw="+/8="),))


def test_a_question_for_tasks() -> None:
    asked = new.ListTasksRequest(
        context_id="c",
        status=new.TASK_STATE_INPUT_REQUIRED,
        page_size=7,
        page_token="next",
        history_length=0,
        include_artifacts=True,
    )
    asked.status_timestamp_after.FromMilliseconds(NOW)
    assert v10.list_request(MessageToDict(asked)) == ListRequest(
        "c", TaskState.INPUT_REQUIRED, NOW, 7, "next", 0, artifacts=True
    )
    assert v10.list_request({}) == ListRequest() == v10.list_request({"status": "TASK_STATE_UNSPECIFIED"})
    never = v10.list_request({"status": "TASK_STATE_AUTH_REQUIRED"})
    assert never.changed_since is not None
    assert never.changed_since > NOW * 100


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0},
        {"pageSize": 101},
        {"pageSize": "seven"},
        {"status": "working"},
        {"statusTimestampAfter": "yesterday"},
        {"historyLength": -1},
        {"includeArtifacts": "yes"},
    ],
)
def test_a_question_for_tasks_that_is_none(params: dict[str, Any]) -> None:
    with pytest.raises(RpcError) as refused:
        v10.list_request(params)
    assert refused.value.code == -32602


def test_a_page_has_all_its_members_even_if_empty() -> None:
    assert v10.page(TaskPage((), "", 50, 0)) == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}
    page = v10.page(TaskPage((VIEW,), "more", 1, 2))
    assert read_new(page, new.ListTasksResponse) == page


@pytest.mark.parametrize("config", CONFIGS)
def test_a_push_config_is_read_by_the_official_types_and_comes_back(config: PushConfig) -> None:
    as_new, as_old = v10.push_config("t", config), v03.push_config("t", config)
    assert read_new(as_new, new.TaskPushNotificationConfig) == as_new
    assert read_old(as_old, old.TaskPushNotificationConfig) == as_old
    assert v10.push_set(as_new) == ("t", PushConfig(config.url, config.config_id or "t", *_rest(config), "1.0"))
    assert v03.push_set(as_old) == ("t", PushConfig(config.url, config.config_id or "t", *_rest(config), "0.3"))


def _rest(config: PushConfig) -> tuple[str | None, str | None, str | None]:
    return config.token, config.scheme, config.credentials


def test_lists_of_push_configs() -> None:
    listed = v10.push_configs("t", CONFIGS)
    assert read_new(listed, new.ListTaskPushNotificationConfigsResponse) == listed
    assert [config["pushNotificationConfig"]["id"] for config in v03.push_configs("t", CONFIGS)] == ["t", "p1", "p2"]


def test_questions_about_tasks_and_push_configs() -> None:
    assert v10.task_request({"id": "t", "historyLength": 2}) == TaskRequest("t", 2)
    assert v03.task_request({"id": "t", "historyLength": 2, "metadata": {}}) == TaskRequest("t", 2, to_its_end=False)
    assert v10.push_request({"taskId": "t", "id": "p"}) == PushRequest("t", "p")
    assert v03.push_request({"id": "t", "pushNotificationConfigId": "p"}) == PushRequest("t", "p")
    assert v10.push_request({"taskId": "t"}) == PushRequest("t") == v03.push_request({"id": "t"})


def test_what_is_posted_has_the_shape_of_its_version() -> None:
    news = StatusUpdate("t", "c", TaskState.COMPLETED, NOW, final=True)
    assert set(v10.push_document(news, VIEW)) == {"statusUpdate"}
    assert v03.push_document(news, VIEW) == v03.task(VIEW)


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_official_client_reads_the_card_in_every_form(form: Form, asks: bool) -> None:
    card = agent_card(AgentDescription("Ada", "2", asks), "https://agents.example/a2a", form)
    read = parse_agent_card({**card, "capabilities": dict(card["capabilities"])})
    assert (read.name, read.version) == ("Ada", "2")
    assert {interface.url for interface in read.supported_interfaces} == {"https://agents.example/a2a"}
    versions = {"1.0": ["1.0"], "0.3": ["0.3.0"], "both": ["1.0", "0.3"]}[form]
    assert [interface.protocol_version for interface in read.supported_interfaces] == versions
    assert read.capabilities.streaming
    assert read.capabilities.push_notifications
    assert read.capabilities.extended_agent_card is asks
    assert [skill.id for skill in read.skills] == ["conversation"]
    assert bool(read.security_requirements) is asks
    assert ("bearer" in read.security_schemes) is asks
    if asks:
        assert read.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"


@pytest.mark.parametrize("asks", [False, True])
def test_a_card_is_strictly_what_it_says(asks: bool) -> None:
    url = "https://agents.example/a2a"
    strict = agent_card(AgentDescription("Ada", "2", asks), url)
    ParseDict(strict, new.AgentCard())  # which refuses what 1.0 does not have
    for form in ("0.3", "both"):
        card = old.AgentCard.model_validate(agent_card(AgentDescription("Ada", "2", asks), url, form))
        assert (card.url, card.preferred_transport, card.protocol_version) == (url, "JSONRPC", "0.3.0")
        assert card.supports_authenticated_extended_card is asks
        assert (card.security == [{"bearer": []}]) is asks
        assert not asks or card.security_schemes is not None
    assert "supportedInterfaces" not in agent_card(AgentDescription("Ada", "2", asks), url, "0.3")


def test_the_card_says_that_an_agent_asks_for_approval() -> None:
    read = parse_agent_card(agent_card(AgentDescription("Ada", "2", asks_for_approval=True), "https://agents.example"))
    assert [list(skill.tags) for skill in read.skills] == [["conversation"], ["approval"]]


def test_every_error_of_a2a_has_its_official_name() -> None:
    theirs = {JSON_RPC_ERROR_CODE_MAP[kind]: reason for kind, reason in A2A_ERROR_REASONS.items()}
    assert {code: reason for code, reason in theirs.items() if -32099 <= code <= -32000} == REASONS
