"""The simulator acts only through the tool that it is offered, and ends the turn once the tool has run."""

import pytest

from holdfast.models import Message, Role, Tool, ToolCall
from holdfast.models.simulator import answer

SCHEMA = {"type": "object", "properties": {"file_path": {"type": "string"}, "text": {"type": "string"}}}
APPEND = Tool("append_file", "Append a line to a file.", SCHEMA)


def user(text: str) -> Message:
    return Message(Role.USER, text)


def calls(text: str, *before: Message) -> list[ToolCall]:
    response = answer([*before, user(text)], [APPEND]).response
    assert response.content == ""
    return response.tool_calls


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "Append the line hello world to the file notes.txt",
            {"text": "hello world", "file_path": "notes.txt"},
        ),
        ('append the line "a, b." to the file `/tmp/x`.', {"text": "a, b.", "file_path": "/tmp/x"}),
        (
            "Please append the line n0nce to the file /tmp/a-b/c.d.",
            {"text": "n0nce", "file_path": "/tmp/a-b/c.d"},
        ),
    ],
)
def test_a_line_to_append_becomes_a_tool_call(text: str, arguments: dict[str, str]) -> None:
    (call,) = calls(text)
    assert (call.name, call.arguments) == ("append_file", arguments)


def test_two_lines_become_two_calls_with_ids_of_their_own() -> None:
    one, two = calls("Append the line a to the file x. Append the line b to the file y.")
    assert (one.arguments["text"], two.arguments["text"]) == ("a", "b")
    assert one.id != two.id


def test_a_retry_has_the_same_call_id_and_a_later_turn_another() -> None:
    text = "Append the line a to the file x"
    assert calls(text)[0].id == calls(text)[0].id
    assert calls(text)[0].id != calls(text, user(text), Message(Role.ASSISTANT, "Done: ok"))[0].id


def test_the_result_of_the_tool_ends_the_turn() -> None:
    request = user("Append the line a to the file x")
    (call,) = answer([request], [APPEND]).response.tool_calls
    prompt = [
        request,
        Message(Role.ASSISTANT, "", [call]),
        Message(Role.TOOL, "appended 2 bytes", tool_call_id=call.id),
    ]
    given = answer(prompt, [APPEND])
    assert given.response.content == "Done: appended 2 bytes"
    assert given.response.tool_calls == []
    assert given.provenance.rule == "tool_result"


def test_a_question_beside_an_effect_does_not_repeat_the_effect() -> None:
    request = user("Append the line a to the file x. What is my name?")
    given = answer([request, Message(Role.TOOL, "ok", tool_call_id="1")], [APPEND])
    assert given.response.tool_calls == []
    assert given.response.content == "Done: ok"


@pytest.mark.parametrize(
    "tools",
    [
        [],
        [Tool("write_file", "", SCHEMA)],
        [Tool("append_file", "", {"type": "object", "properties": {"path": {}, "text": {}}})],
        [Tool("append_file", "", {})],
    ],
)
def test_without_a_fitting_tool_nothing_is_called(tools: list[Tool]) -> None:
    response = answer([user("Append the line a to the file x")], tools).response
    assert response.content == "I have no tool that can do that."
    assert response.tool_calls == []


def test_a_request_that_is_answered_is_not_done_again() -> None:
    given = answer(
        [user("Append the line a to the file x"), Message(Role.ASSISTANT, "Done: ok"), user("Thanks")],
        [APPEND],
    )
    assert given.response.tool_calls == []
    assert given.response.content == "You said: Thanks"
