"""The text protocol: what is a call, what an answer, and what is neither."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.models import Message, Role, Tool, ToolCall
from holdfast.runtime.turn.react import ReactMessage, as_text, instructions, parse

WORDS = st.sampled_from(["", "a", "Action: x", "line\nInput: {}", '"', "é\u2028", "{", "Observation"])
JSON = WORDS | st.none() | st.booleans() | st.integers(-9, 9) | st.lists(WORDS, max_size=2)


def test_words_without_marked_lines_are_an_answer() -> None:
    assert parse("It is done.\nThe Action: was mine; no Input: needed.\n") == ReactMessage(
        "It is done.\nThe Action: was mine; no Input: needed."
    )


def test_a_call_ends_the_message() -> None:
    said = parse('I will look.\nAction: read\nInput: {"file_path": "a.txt",\n "limit": 3}\n')
    assert said == ReactMessage("I will look.", "read", {"file_path": "a.txt", "limit": 3})


MALFORMED = {
    "two calls": "Action: read\nInput: {}\nAction: read\nInput: {}",
    "no input": "Action: read",
    "input first": "Input: {}\nAction: read",
    "input alone": "Input: {}",
    "two inputs": "Action: read\nInput: {}\nInput: {}",
    "words after the call": "Action: read\nInput: {}\nthen I will write",
    "an observation made up": "Action: read\nInput: {}\nObservation: fine",
    "a list": "Action: read\nInput: []",
    "a text": 'Action: read\nInput: "a"',
    "half a value": 'Action: read\nInput: {"a":',
    "single quotes": "Action: read\nInput: {'a': 1}",
    "a key twice": 'Action: read\nInput: {"a": 1, "a": 2}',
    "not a number": 'Action: read\nInput: {"a": NaN}',
    "a fence": "Action: read\nInput: ```json\n{}\n```",
    "no name": "Action:\nInput: {}",
    "a sentence for a name": "Action: read the file\nInput: {}",
    "call syntax": "Action: read()\nInput: {}",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_never_a_call(name: str) -> None:
    said = parse(MALFORMED[name])
    assert said.problem
    assert (said.name, said.arguments) == (None, None)


@settings(max_examples=40)
@given(st.dictionaries(WORDS, JSON, max_size=3))
def test_a_call_that_is_told_is_read_as_it_was(arguments: dict[str, object]) -> None:
    (told,) = as_text([Message(Role.ASSISTANT, "", [ToolCall("c", "write", arguments)])])
    assert parse(told.text) == ReactMessage("", "write", arguments)


def test_a_conversation_is_told_without_tool_messages() -> None:
    call = ToolCall("c1", "read", {"file_path": "a"})
    talk = [
        Message(Role.USER, "go"),
        Message(Role.ASSISTANT, "Looking.", [call]),
        Message(Role.TOOL, "hello", tool_call_id="c1"),
    ]
    assert [(said.role, said.text) for said in as_text(talk)] == [
        (Role.USER, "go"),
        (Role.ASSISTANT, 'Looking.\nAction: read\nInput: {"file_path":"a"}'),
        (Role.USER, "Observation from read:\nhello"),
    ]


def test_the_instructions_name_every_tool_with_its_arguments() -> None:
    told = instructions([Tool("read", "Read a file.", {"type": "object", "properties": {"file_path": {}}})])
    assert "- read: Read a file. Arguments:" in told
    assert "file_path" in told
