"""A stream is put together as a client would, in both versions, and nothing that it says makes the reader fail."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import TaskState
from holdfast.prove.wire.task_stream import TaskStream

OLD_PLACE = {"taskId": "t", "contextId": "c"}


def followed(*results: Any) -> TaskStream:
    heard = TaskStream()
    for result in results:
        heard.take(200, json.dumps({"jsonrpc": "2.0", "id": "1", "result": result}).encode())
    return heard


def old_piece(text: str, *, append: bool) -> dict[str, Any]:
    artifact = {"artifactId": "a", "parts": [{"kind": "text", "text": text}]}
    return {"kind": "artifact-update", **OLD_PLACE, "artifact": artifact, "append": append}


def new_piece(text: str, **more: Any) -> dict[str, Any]:
    return {"artifactUpdate": {**OLD_PLACE, "artifact": {"artifactId": "a", "parts": [{"text": text}]}, **more}}


def test_a_stream_of_version_0_3() -> None:
    heard = followed(
        {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "submitted"}},
        {"kind": "status-update", **OLD_PLACE, "status": {"state": "working"}, "final": False},
        old_piece("1 ", append=False),
        old_piece("2", append=True),
        {"kind": "status-update", **OLD_PLACE, "status": {"state": "completed"}, "final": True},
    )
    assert heard.task_id == "t"
    assert heard.pieces == ["1 ", "2"]
    assert heard.text == "1 2"
    assert heard.states == [TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED]


def test_a_subscription_of_version_1_0_begins_with_the_task_as_it_stands() -> None:
    known = {"artifactId": "a", "parts": [{"text": "1 2 "}]}
    heard = followed(
        {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [known]}},
        new_piece("3", append=True),
        {"statusUpdate": {**OLD_PLACE, "status": {"state": "TASK_STATE_COMPLETED"}}},
    )
    assert heard.text == "1 2 3"
    assert heard.states == [TaskState.WORKING, TaskState.COMPLETED]


def test_a_piece_that_is_not_appended_takes_the_place_of_what_was_there() -> None:
    assert followed(new_piece("half"), new_piece("whole", lastChunk=True)).text == "whole"


def test_the_whole_task_at_the_end_is_what_counts() -> None:
    whole = {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"text": "whole"}]}]}
    assert followed(new_piece("ha"), new_piece("lf", append=True), {"task": whole}).text == "whole"


@pytest.mark.parametrize(
    "result",
    [
        {"kind": "message", "role": "agent", "taskId": "t", "parts": [{"kind": "text", "text": "Hello."}]},
        {"message": {"role": "ROLE_AGENT", "taskId": "t", "parts": [{"text": "Hello."}]}},
        {
            "statusUpdate": {
                "taskId": "t",
                "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": [{"text": "Hello."}]}},
            }
        },
    ],
)
def test_an_answer_may_be_a_message_or_in_the_status(result: Any) -> None:
    heard = followed(result)
    assert heard.text == "Hello."
    assert heard.pieces == ["Hello."]
    assert heard.task_id == "t"


def test_an_error_in_the_stream_stays() -> None:
    heard = followed(new_piece("1"))
    heard.take(200, b'{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"oops"}}')
    assert heard.error == "JSON-RPC error -32603: oops"
    assert heard.text == "1"


KEYS = ["task", "message", "statusUpdate", "artifactUpdate", "artifact", "artifacts", "status", "parts", "text", "id"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=3))
def test_no_json_makes_the_reader_fail(results: list[Any]) -> None:
    assert isinstance(followed(*results).text, str)


@given(st.binary(max_size=50))
def test_no_bytes_make_the_reader_fail(body: bytes) -> None:
    heard = TaskStream()
    heard.take(500, body)
    assert heard.error
