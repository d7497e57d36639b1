"""An answer is read wherever a target may put it, and nothing that a target sends makes the reader fail."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import TaskState
from holdfast.prove.runtime.checks import says
from holdfast.prove.wire import replies
from holdfast.prove.wire.replies import TargetReply
from holdfast.prove.wire.task_stream import TaskStream

OLD = [{"kind": "text", "text": "Hongming"}]
NEW = [{"text": "Hongming"}]


def reply_to(result: Any) -> replies.TargetReply:
    return replies.read(200, json.dumps({"jsonrpc": "2.0", "id": "1", "result": result}).encode())


@pytest.mark.parametrize(
    "result",
    [
        {"kind": "message", "role": "agent", "parts": OLD},
        {"kind": "task", "id": "t", "status": {"state": "completed"}, "artifacts": [{"parts": OLD}]},
        {"kind": "task", "id": "t", "status": {"state": "completed", "message": {"parts": OLD}}},
        {"message": {"role": "ROLE_AGENT", "parts": NEW}},
        {"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": NEW}]}},
        {"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": NEW}}}},
        {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": NEW}]},
    ],
)
def test_the_text_is_found_in_every_place_where_it_may_be(result: Any) -> None:
    reply = reply_to(result)
    assert reply.text == "Hongming"
    assert reply.answered


def test_texts_are_joined_in_the_order_of_looking() -> None:
    reply = reply_to(
        {
            "task": {
                "id": "t",
                "status": {"state": "TASK_STATE_WORKING", "message": {"parts": [{"text": "four"}]}},
                "parts": [{"text": "one"}],
                "artifacts": [{"parts": [{"text": "two"}, {"data": {}}]}, {"parts": [{"text": "three"}]}],
            }
        }
    )
    assert reply.text == "one\ntwo\nthree\nfour"
    assert reply.state is TaskState.WORKING
    assert reply.task_id == "t"


def test_a_message_names_the_task_it_belongs_to_and_no_other() -> None:
    assert reply_to({"message": {"messageId": "m", "parts": NEW}}).task_id is None
    assert reply_to({"message": {"messageId": "m", "taskId": "t", "parts": NEW}}).task_id == "t"


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("working", TaskState.WORKING),
        ("input-required", TaskState.INPUT_REQUIRED),
        ("TASK_STATE_INPUT_REQUIRED", TaskState.INPUT_REQUIRED),
        ("auth-required", TaskState.INPUT_REQUIRED),
        ("TASK_STATE_CANCELLED", TaskState.CANCELED),
        ("somewhere", None),
        (7, None),
    ],
)
def test_states_are_known_in_both_spellings(word: object, state: TaskState | None) -> None:
    assert replies.task_state(word) is state


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b'{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"no task"}}', "error -32001: no task"),
        (500, b"Internal Server Error", "HTTP 500 with a body that is not JSON"),
        (200, b"[]", "not an object"),
        (404, b'{"detail":"Not Found"}', "HTTP 404 with neither a result nor an error"),
    ],
)
def test_a_failed_reply_says_why(status: int, body: bytes, said: str) -> None:
    reply = replies.read(status, body)
    assert said in reply.error
    assert not reply.answered


@pytest.mark.parametrize("state", ["failed", "TASK_STATE_REJECTED", "canceled"])
def test_the_words_of_a_failed_task_are_not_an_answer(state: str) -> None:
    reply = reply_to({"id": "t", "status": {"state": state, "message": {"parts": NEW}}})
    assert not reply.answered
    assert "Hongming" in reply.describe()


def test_an_empty_answer_is_none() -> None:
    reply = reply_to({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}})
    assert not reply.answered
    assert reply.describe() == "an empty answer (task working)"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["result", "error", "task", "message", "status", "parts", "artifacts", "text", "id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_no_json_makes_the_reader_fail(document: Any) -> None:
    replies.read(200, json.dumps(document).encode()).describe()


@given(st.binary(max_size=50))
def test_no_bytes_make_the_reader_fail(body: bytes) -> None:
    assert replies.read(200, body).describe()


def test_a_lone_surrogate_can_be_written_down_again() -> None:
    reply = replies.read(200, b'{"result":{"parts":[{"text":"a\\ud800b"}]}}')
    assert reply.text.encode() == b"a?b"
    assert replies.read(200, b'{"error":{"code":1,"message":"\\udfff"}}').error.endswith("?")


def test_a_body_that_is_nested_too_deeply_is_not_json_to_us() -> None:
    assert "not JSON" in replies.read(200, b"[" * 200_000).error


@pytest.mark.parametrize("parts", [["It is Hong", "ming."], ["Hongming", "Noted."], ["One. ", "It is Hongming"]])
def test_a_word_is_found_in_pieces_of_a_text_and_in_texts_side_by_side(parts: list[str]) -> None:
    artifact = {"artifactId": "a", "parts": [{"text": part} for part in parts]}
    result = {"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [artifact]}}
    assert says(reply_to(result).readings, "Hongming")
    stream = TaskStream()
    stream.take(200, json.dumps({"result": result}).encode())
    assert says(TargetReply(stream.text, variant=stream.variant).readings, "Hongming")


def test_an_answer_that_reads_the_same_either_way_has_one_reading() -> None:
    reply = reply_to({"message": {"role": "ROLE_AGENT", "parts": [{"text": "one"}, {"text": "two"}]}})
    assert reply.readings == reply.text == "one\ntwo"
