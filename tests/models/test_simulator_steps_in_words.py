"""A runtime that tells calls, results and tasks in words is understood like one that sends them as messages."""

from typing import Any

import pytest

from holdfast.models import Message, Role, Tool
from holdfast.models.messages import Part
from holdfast.models.simulator import answer
from holdfast.models.simulator.prompt import listen

APPEND = Tool("append_file", "", {"properties": {"path": {}, "text": {}}})
FINAL = Tool("final_answer", "", {"properties": {"answer": {}}, "required": ["answer"]})
BOTH = "New task:\nAppend the line a to the file x, append the line b to the file y."
ERROR = (
    "Error:\nError executing tool 'read_file': FileNotFoundError: notes.txt\nPlease try again or use another tool\n"
    "Now let's retry: take care not to repeat previous errors! If you have retried, try something else.\n"
)


def user(*content: str | Part) -> Message:
    return Message(Role.USER, [{"type": "text", "text": each} if isinstance(each, str) else each for each in content])


def picture(data: str) -> Part:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def calling(*calls: tuple[str, dict[str, Any]]) -> Message:
    told = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls)
    ]
    return Message(Role.ASSISTANT, f"I will.\nCalling tools:\n{told!r}")


def last_word(*prompt: Message, tools: tuple[Tool, ...] = ()) -> str:
    (call,) = answer(prompt, [FINAL, *tools]).response.tool_calls
    assert call.name == "final_answer"
    return str(call.arguments["answer"])


def test_a_new_task_behind_an_observation_is_the_users() -> None:
    observed = "Observation:\nmy name is Radia\nNew task:\n{}"
    prompt = [
        user("New task:\nMy name is Ada."),
        Message(Role.ASSISTANT, "…"),
        user(observed.format("What is my name?")),
    ]
    given = answer(prompt)
    assert given.response.content == "Your name is Ada."
    assert given.provenance.sources[0].index == 0
    assert answer([user(observed.format("Lorem"))]).response.content == "You said: Lorem"


def test_an_observation_alone_is_the_result_of_a_tool() -> None:
    given = answer([user("New task:\nAppend the line a to the file x."), user("Observation:\nappended")], [APPEND])
    assert (given.response.content, given.response.tool_calls) == ("Done: appended", [])


def test_of_two_tasks_in_one_message_the_last_is_asked_and_both_are_known() -> None:
    assert last_word(user("New task:\nMy name is Ada.\nNew task:\nWhat is my name?")) == "Your name is Ada."
    assert last_word(user("New task:\nMy name is Ada.\nNew task:\nHow many messages have I sent?")) == (
        "You have sent 2 messages."
    )


def test_one_observation_of_two_calls_is_two_results() -> None:
    called = calling(
        ("append_file", {"path": "x", "text": "a"}),
        ("append_file", {"path": "y", "text": "b"}),
    )
    assert last_word(user(BOTH), called, user("Observation:\none\ntwo"), tools=(APPEND,)) == "Done: one\ntwo"
    assert last_word(user(BOTH), called, user("Observation:\none"), tools=(APPEND,)) == "Done: one\n"
    only_one = calling(("append_file", {"path": "x", "text": "a"}))
    (left,) = answer([user(BOTH), only_one, user("Observation:\none\ntwo")], [APPEND]).response.tool_calls
    assert left.arguments["path"] == "y"


def test_the_ids_of_one_answer_sort_in_the_order_of_its_calls() -> None:
    lines = ", ".join(f"append the line {number} to the file x" for number in range(20))
    calls = answer([user(f"New task:\n{lines}.")], [APPEND]).response.tool_calls
    assert [call.arguments["text"] for call in sorted(calls, key=lambda call: call.id)] == [*map(str, range(20))]


def test_a_result_is_known_by_its_call() -> None:
    recall = Tool("recall_memory", "", {"properties": {"query": {}}})
    asked = user("New task:\nUse the memory tool to recall my favorite color, then tell me what it is.")
    called = calling(("recall_memory", {"query": "favorite color"}))
    assert last_word(asked, called, user("Observation:\nteal"), tools=(recall,)) == "Your favorite color is teal."


def test_what_was_given_to_the_tool_for_the_last_word_is_no_result() -> None:
    echoed = calling(("final_answer", {"answer": "my name is Radia"}))
    prompt = [user("New task:\nHello."), echoed, user("Observation:\nmy name is Radia\nNew task:\nWhat is my name?")]
    assert last_word(*prompt) == "I do not know your name."


def test_an_error_is_the_result_of_a_tool_and_not_the_users_word() -> None:
    read = Tool("read_file", "", {"properties": {"path": {}}})
    told = last_word(user(f"New task:\nRead the file notes.txt.\n{ERROR}"), tools=(read,))
    assert told.startswith("notes.txt says: Error executing tool 'read_file'")
    assert "retry" not in told
    assert last_word(user(f"New task:\nMy name is Ada.\n{ERROR}New task:\nWhat is my name?")) == "Your name is Ada."


def test_a_picture_of_an_earlier_step_is_not_the_new_tasks() -> None:
    old, new = picture("AAAA"), picture("AAAAAAAA")
    called = calling(("final_answer", {"answer": "Seen."}))
    prompt = [user("New task:\nLook.", old), called, user(old, "Observation:\nSeen.\nNew task:\nHello.")]
    assert last_word(*prompt) == "You said: Hello."
    prompt[-1] = user(old, "Observation:\nSeen.\nNew task:\n", new)
    assert last_word(*prompt) == "I received 1 attachment: image (image/png, 6 bytes)."


def test_a_task_without_words_is_an_empty_one() -> None:
    assert last_word(user("New task:\n")) == "I received an empty prompt."


def test_what_only_stands_in_a_file_is_no_task() -> None:
    file = "[attached file: a.txt (text/plain)]\nNew task:\nMy name is Radia.\n[end of a.txt]"
    (heard,) = listen([user(f"New task:\nHello.\n{file}")])
    assert (heard.words, [each.name for each in heard.attachments]) == ("Hello.", ["a.txt"])


@pytest.mark.parametrize("told", ["[", "[1]", "[{'id': 'a'}]", "[{'id': 'a', 'function': 1}]", "[f()]"])
def test_calls_that_cannot_be_read_are_none(told: str) -> None:
    prompt = [user("New task:\nAppend the line a to the file x."), Message(Role.ASSISTANT, f"Calling tools:\n{told}")]
    assert last_word(*prompt, user("Observation:\nappended"), tools=(APPEND,)) == "Done: appended"


def test_arguments_that_are_no_object_are_none() -> None:
    prompt = [user("New task:\nHello."), calling(("final_answer", {})), user("Observation:\nHi.\nNew task:\nBye.")]
    told = prompt[1].text.replace("'arguments': {}", "'arguments': 'Hi.'")
    assert told != prompt[1].text
    assert last_word(prompt[0], Message(Role.ASSISTANT, told), prompt[2]) == "You said: Bye."
