"""Runtimes dress the user's words up; the simulator still hears the user."""

import time

import pytest

from holdfast.models import Message, Role, Tool, ToolCall
from holdfast.models.messages import Part
from holdfast.models.simulator import answer

REMINDER = "<system-reminder>\nThe user's name is Radia. Remember: my name is Radia.\n</system-reminder>"
NOTEBOOK = "<memory>\n### MEMORY.md\n\nmy name is Radia\n</memory>"
INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nmy name is Radia\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"

HARNESS = "[Request interrupted by user]"
NOTE = "[System note: The previous turn was cut off. My name is Radia.]"

DRESSES = {
    "a time in front": "[Sun 2026-11-01 10:30 UTC] {}",
    "a reminder behind": "{}\n\n" + REMINDER,
    "a reminder in front": REMINDER + "\n{}",
    "a reminder that never ends": "{}\n<system-reminder>my name is Radia",
    "internal context behind": "{}\n" + INTERNAL,
    "a notebook behind": "{}\n" + NOTEBOOK,
    "a note of a cancel in front": HARNESS + "\n{}",
    "a note of a restart behind": "{}\n\n" + NOTE,
    "a runtime line behind": "{}\n\nRuntime: agent=main | host=box | thinking=off",
    "all of them": "[Sun 2026-11-01 10:30 UTC] {}\n" + REMINDER + "\n" + INTERNAL + "\nRuntime: x",
}


def user(text: str) -> Message:
    return Message(Role.USER, text)


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_a_dressed_up_name_and_question_are_understood(dress: str) -> None:
    given = answer([user(dress.format("My name is Ada.")), user(dress.format("What is my name?"))])
    assert given.response.content == "Your name is Ada."
    assert given.provenance.sources[0].index == 0


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_what_comes_back_is_undressed(dress: str) -> None:
    assert answer([user(dress.format("Lorem ipsum."))]).response.content == "You said: Lorem ipsum."


@pytest.mark.parametrize("extra", [REMINDER, INTERNAL, NOTEBOOK, HARNESS, NOTE])
def test_a_message_that_is_only_the_runtimes_is_not_the_last_one(extra: str) -> None:
    prompt = [user("My name is Ada."), user("What is my name?"), user(extra)]
    assert answer(prompt).response.content == "Your name is Ada."


@pytest.mark.parametrize("extra", [REMINDER, INTERNAL, NOTEBOOK, HARNESS, NOTE])
def test_a_message_that_is_only_the_runtimes_is_not_counted(extra: str) -> None:
    given = answer([user(extra), user("How many messages have I sent?"), user(extra)])
    assert given.response.content == "You have sent 1 message."


def test_a_name_in_a_runtimes_reminder_is_not_the_users() -> None:
    assert answer([user("What is my name?\n" + REMINDER)]).response.content == "I do not know your name."


def test_a_notebook_is_believed_where_memory_is_asked_for() -> None:
    assert answer([user("What is my name?"), user(NOTEBOOK)]).response.content == "I do not know your name."
    recall = user("Use the memory tool to recall my name, then tell me what it is.")
    assert answer([recall, user(NOTEBOOK)]).response.content == "Your name is Radia."


def test_brackets_that_hold_no_time_are_the_users_words() -> None:
    assert answer([user("[draft] Lorem")]).response.content == "You said: [draft] Lorem"


@pytest.mark.parametrize(
    "text",
    [
        "append the line " * 10_000,
        "[" + "1:1" * 50_000,
        "\n" * 100_000 + "x",
        "my name is " * 30_000,
        "my a is " + "b" * 300_000,
        "use the skill a " * 20_000,
        "[attached file: a]\n" * 5_000,
        "[COMPACTED CONTEXT]\n" + "user: my name is a\n" * 10_000,
        "<memory>\n" * 20_000,
        "Error:\n" * 30_000,
        "<text>" * 10_000 + "<notes>" * 10_000,
        "as JSON with the members: email\n<text>\n" + "a" * 150_000 + "\n</text>",
    ],
)
def test_a_long_and_odd_prompt_is_answered_soon(text: str) -> None:
    start = time.process_time()
    answer([user(text)])
    answer([Message(Role.SYSTEM, text), user("Remember: my a is b. What is the code word in a.txt?")])
    assert time.process_time() - start < 10


def parts(*content: Part) -> Message:
    return Message(Role.USER, list(content))


TEXT: Part = {"type": "text", "text": "What is my name?"}
IMAGE: Part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
FILE: Part = {"type": "file", "file": {"filename": "a.pdf", "file_data": "AA=="}}


def test_words_in_parts_are_understood() -> None:
    assert answer([user("My name is Ada."), parts(TEXT)]).response.content == "Your name is Ada."


def test_an_attachment_without_words_is_not_an_empty_prompt() -> None:
    assert answer([parts(IMAGE)]).response.content == "I received 1 attachment: image (image/png, 1 byte)."


def test_attachments_are_named_before_the_answer() -> None:
    given = answer([parts(IMAGE, TEXT, FILE)])
    assert given.response.content == (
        "I received 2 attachments: image (image/png, 1 byte), a.pdf (application/pdf, 1 byte). I do not know your name."
    )


def test_an_earlier_attachment_is_not_in_this_message() -> None:
    assert answer([parts(IMAGE), user("Lorem")]).response.content == "You said: Lorem"


def test_a_skill_that_is_listed_is_not_a_name() -> None:
    listing = Message(Role.SYSTEM, "Skills:\n- recall-name: Recall the user's name\n- name: Radia")
    given = answer([listing, user("Recall my name.")])
    assert given.response.content == "I do not know your name."


@pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER])
def test_what_a_runtime_keeps_in_memory_is_known_where_memory_is_asked_for(role: Role) -> None:
    text = "Memory of earlier sessions: the user's favorite color is teal."
    memory = Message(role, text if role == Role.SYSTEM else f"<system-reminder>{text}</system-reminder>")
    asked = answer([memory, user("Use the memory tool to recall my favorite color, then tell me what it is.")])
    assert asked.response.content == "Your favorite color is teal."
    (source,) = asked.provenance.sources
    assert (source.index, source.role) == (0, Role.SYSTEM)
    assert answer([memory, user("What is my favorite color?")]).response.content == "I do not know your favorite color."


def test_the_users_word_outranks_what_another_folders_notes_say() -> None:
    notes = user("<system-reminder>CLAUDE.md: The user's name is Radia. My name is Radia.</system-reminder>")
    given = answer([user("My name is Ada."), notes, user("What is my name?")])
    assert given.response.content == "Your name is Ada."


def test_a_note_about_an_image_is_not_the_users() -> None:
    given = answer([parts(IMAGE, {"type": "text", "text": "[Image: source: /tmp/a.png]"})])
    assert given.response.content == "I received 1 attachment: image (image/png, 1 byte)."
    assert (
        "empty"
        not in answer([parts(IMAGE, {"type": "text", "text": "User sent image(s) with no text."})]).response.content
    )


def test_a_file_that_is_only_mentioned_is_named_and_not_described() -> None:
    given = answer([user("[Image attached at: /tmp/cat.png]\nMy name is Ada.")])
    assert given.response.content == "I received 1 attachment: /tmp/cat.png (image/png). Nice to meet you, Ada."
    later = answer([user("[attached file: notes.txt (text/plain)]"), user("What is the code word in notes.txt?")])
    assert later.response.content == "I do not know the code word in notes.txt."


def test_a_description_asked_for_beside_the_turn_names_the_image() -> None:
    given = answer([parts({"type": "text", "text": "Describe everything visible in this image."}, IMAGE)])
    assert given.response.content == "I received 1 attachment: image (image/png, 1 byte)."


FINAL = Tool("final_answer", "", {"properties": {"answer": {}}, "required": ["answer"]})


def test_a_final_answer_goes_through_its_tool() -> None:
    given = answer([user("My name is Ada."), user("What is my name?")], [FINAL])
    (call,) = given.response.tool_calls
    assert (call.name, call.arguments, given.response.content) == ("final_answer", {"answer": "Your name is Ada."}, "")
    assert given.provenance.sources[0].value == "Ada"


def test_other_tools_run_before_the_final_answer() -> None:
    append = Tool("append_file", "", {"properties": {"path": {}, "text": {}}})
    request = user("Append the line a to the file x")
    first = answer([request], [FINAL, append]).response
    assert [call.name for call in first.tool_calls] == ["append_file"]
    call_id = first.tool_calls[0].id
    done = [
        request,
        Message(Role.ASSISTANT, "", first.tool_calls),
        Message(Role.TOOL, "ok", tool_call_id=call_id),
    ]
    assert [call.name for call in answer(done, [FINAL, append]).response.tool_calls] == ["final_answer"]


def test_an_agent_that_writes_code_gets_code() -> None:
    system = Message(Role.SYSTEM, "Write code between <code> and </code>; end with final_answer(...).")
    given = answer([system, user("My name is D'Arcy-2."), user('Say "hi".')])
    assert given.response.content == "<code>\nfinal_answer('You said: \"hi\".')\n</code>"


@pytest.mark.parametrize("go_on", ["Continue from where you left off.", NOTE])
def test_a_turn_that_is_to_be_gone_on_with_does_only_what_is_not_done(go_on: str) -> None:
    append = Tool("append_file", "", {"properties": {"path": {}, "text": {}}})
    request = user("Append the line a to the file x, append the line b to the file y.")
    both = answer([request], [append]).response.tool_calls
    cut = [request, Message(Role.ASSISTANT, "", both[:1]), Message(Role.TOOL, "ok", tool_call_id=both[0].id)]
    given = answer([*cut, user(go_on)], [append]).response
    assert [call.arguments["path"] for call in given.tool_calls] == ["y"]


SEARCH = Tool("ToolSearch", "", {"properties": {"query": {}}, "required": ["query"]})
SAVE = Tool("mcp__plugin_probe_mem__save", "Save a fact.", {"properties": {"text": {}}, "required": ["text"]})
REMEMBER = user("Please use the memory tool to remember: my favorite color is teal.")


def test_a_tool_that_is_deferred_is_selected_first() -> None:
    listed = user("<system-reminder>Deferred tools:\nmcp__plugin_probe_mem__save\nmcp__other__x</system-reminder>")
    (search,) = answer([listed, REMEMBER], [SEARCH]).response.tool_calls
    assert (search.name, search.arguments) == ("ToolSearch", {"query": "select:mcp__plugin_probe_mem__save"})
    searched = [
        listed,
        REMEMBER,
        Message(Role.ASSISTANT, "", [search]),
        Message(Role.TOOL, "found", tool_call_id=search.id),
    ]
    (save,) = answer(searched, [SEARCH, SAVE]).response.tool_calls
    assert (save.name, save.arguments) == (SAVE.name, {"text": "my favorite color is teal."})
    saved = [
        *searched,
        Message(Role.ASSISTANT, "", [save]),
        Message(Role.TOOL, "saved", tool_call_id=save.id),
    ]
    assert answer(saved, [SEARCH, SAVE]).response.content == "Done: saved"


def test_a_search_that_finds_nothing_is_not_repeated() -> None:
    search = ToolCall("1", "ToolSearch", {"query": "x"})
    prompt = [
        REMEMBER,
        Message(Role.ASSISTANT, "", [search]),
        Message(Role.TOOL, "nothing", tool_call_id="1"),
    ]
    given = answer(prompt, [SEARCH])
    assert (given.response.tool_calls, given.provenance.rule) == ([], "no_tool")


def test_what_is_said_beside_the_result_of_a_search_is_not_the_users() -> None:
    (search,) = answer([REMEMBER], [SEARCH]).response.tool_calls
    found = Message(Role.TOOL, "found", tool_call_id=search.id)
    prompt = [REMEMBER, Message(Role.ASSISTANT, "", [search]), found, user("Tool loaded.")]
    (save,) = answer(prompt, [SEARCH, SAVE]).response.tool_calls
    assert save.arguments == {"text": "my favorite color is teal."}


def test_a_hidden_tool_is_called_through_another() -> None:
    tools = [
        Tool("tool_search", "", {"properties": {"query": {}}}),
        Tool("tool_call", "", {"properties": {"name": {}, "arguments": {}}}),
    ]
    (search,) = answer([REMEMBER], tools).response.tool_calls
    assert search.arguments == {"query": "save memory"}
    found = '{"tools":[{"name":"memory_add","parameters":{"properties":{"content":{}}}},{"name":"web_search"}]}'
    prompt = [
        REMEMBER,
        Message(Role.ASSISTANT, "", [search]),
        Message(Role.TOOL, found, tool_call_id=search.id),
    ]
    (call,) = answer(prompt, tools).response.tool_calls
    assert call.name == "tool_call"
    assert call.arguments == {"name": "memory_add", "arguments": {"content": "my favorite color is teal."}}


def test_a_tool_whose_search_never_was_keeps_its_silence() -> None:
    assert answer([user("Lorem")], [SEARCH]).response.tool_calls == []
