"""The simulator acts only through the tool that it is offered, and ends the turn once the tool has run."""

import json

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
        [Tool("append_file", "", {"type": "object", "properties": {"path": {}}})],
        [Tool("append_file", "", {})],
        [Tool("append_memory", "", SCHEMA)],
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


def tool(name: str, *required: str) -> Tool:
    return Tool(name, "", {"properties": {key: {"type": "string"} for key in required}, "required": list(required)})


WRITE, READ, SKILL = tool("write", "file_path", "content"), tool("read", "file_path"), tool("read_skill", "name")
ASK = tool("ask_agent", "url", "text")


def after(prompt: list[Message], result: str, offered: list[Tool]) -> list[Message]:
    """The prompt once the call that it leads to has given this."""
    (call,) = answer(prompt, offered).response.tool_calls
    return [
        *prompt,
        Message(Role.ASSISTANT, "", [call]),
        Message(Role.TOOL, result, tool_call_id=call.id),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Write hello there to the file a.txt.",
        'Please write "hello there" into the file a.txt',
        'Create a file named a.txt with the content "hello there".',
        "Create the file a.txt containing hello there.",
    ],
)
def test_a_file_to_write_becomes_a_tool_call(text: str) -> None:
    (call,) = answer([user(text)], [READ, WRITE]).response.tool_calls
    assert (call.name, call.arguments) == ("write", {"file_path": "a.txt", "content": "hello there"})


def test_a_file_to_read_is_told() -> None:
    prompt = after([user("Read the file a.txt and tell me what it says.")], "lorem", [READ])
    assert answer(prompt, [READ]).response.content == "a.txt says: lorem"


def test_a_shell_appends_where_no_tool_does() -> None:
    (call,) = answer(
        [user("Append the line it's a to the file x y.txt")], [tool("Bash", "command")]
    ).response.tool_calls
    assert call.arguments == {"command": "printf '%s\\n' 'it'\"'\"'s a' >> x"}


def test_a_skill_is_read_and_followed() -> None:
    offered = [READ, APPEND, WRITE, SKILL]
    prompt = [user("Use the skill stamp to stamp the journal.")]
    (call,) = answer(prompt, offered).response.tool_calls
    assert (call.name, call.arguments) == ("read_skill", {"name": "stamp"})
    prompt = after(prompt, "# Stamp\nAppend the line n0nce to the file journal.txt.", offered)
    (call,) = answer(prompt, offered).response.tool_calls
    assert (call.name, call.arguments) == ("append_file", {"text": "n0nce", "file_path": "journal.txt"})
    prompt = after(prompt, "appended", offered)
    given = answer(prompt, offered)
    assert (given.response.content, given.response.tool_calls) == ("Done: appended\nI used the skill stamp.", [])


MANAGE = Tool("skill_manage", "", {"properties": {"action": {"enum": ["create", "delete"]}, "name": {}}})
VIEWS = Tool("skills", "", {"properties": {"action": {"enum": ["list", "view"]}, "name": {}}})


@pytest.mark.parametrize(
    ("offered", "arguments"), [(SKILL, {"name": "stamp"}), (VIEWS, {"action": "view", "name": "stamp"})]
)
def test_a_skill_is_read_by_what_reads_it_and_not_by_what_makes_it(offered: Tool, arguments: dict[str, str]) -> None:
    (call,) = answer([user("Use the skill stamp.")], [MANAGE, offered]).response.tool_calls
    assert (call.name, call.arguments) == (offered.name, arguments)


def test_a_skill_that_comes_as_json_is_followed() -> None:
    text = "---\nname: stamp\n---\nAppend the line n0nce to the file journal.txt.\n"
    result = json.dumps({"success": True, "content": text, "files": [{"text": text}]})
    prompt = after([user("Use the skill stamp.")], result, [SKILL, APPEND])
    (call,) = answer(prompt, [SKILL, APPEND]).response.tool_calls
    assert call.arguments == {"text": "n0nce", "file_path": "journal.txt"}


def test_a_skill_without_a_tool_is_a_file() -> None:
    (call,) = answer([user("Use the stamp skill.")], [READ]).response.tool_calls
    assert call.arguments == {"file_path": "skills/stamp/SKILL.md"}


def test_a_skill_that_is_not_there_ends_the_turn() -> None:
    prompt = after([user("Use the skill none to do it.")], "error: there is no skill", [SKILL, APPEND])
    assert answer(prompt, [SKILL, APPEND]).response.content == "Done: error: there is no skill"


URL = "http://127.0.0.1:8124/a2a"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"Ask the agent at {URL}: What is my name? and report.", "What is my name?"),
        (f"Ask the agent at {URL}: What is my name? Then report what it says.", "What is my name?"),
        (f'Ask the agent at {URL} "What is my name?" and report its answer', "What is my name?"),
        (
            f"Please ask the agent at {URL}, use the memory tool to recall my city, then tell me what it is.",
            "use the memory tool to recall my city, then tell me what it is.",
        ),
        (
            f"Ask the agent at {URL}: Append the line a to the file x and tell me its answer.",
            "Append the line a to the file x",
        ),
    ],
)
def test_another_agent_is_asked_and_reported(text: str, asked: str) -> None:
    offered = [APPEND, tool("recall_memory", "query"), ASK]
    prompt = [user("My name is Ada."), user(text)]
    (call,) = answer(prompt, offered).response.tool_calls
    assert (call.name, call.arguments) == ("ask_agent", {"url": URL, "text": asked})
    done = answer(after(prompt, "Your name is Bo.", offered), offered).response
    assert done.content == f"The agent at {URL} answered: Your name is Bo."


def test_nobody_to_ask_is_said() -> None:
    given = answer([user(f"Ask the agent at {URL}: What is my name? and report")], [APPEND])
    assert given.response.content == "I have no tool that can do that."


def test_two_wishes_are_granted_together() -> None:
    offered = [APPEND, tool("save_memory", "text")]
    text = "Append the line a to the file x.\nRemember that my city is Rome."
    names = [call.name for call in answer([user(text)], offered).response.tool_calls]
    assert names == ["append_file", "save_memory"]


QUESTION = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
ASK_USER = Tool("ask_user", "Ask the user.", QUESTION)
TO_APPROVE = user("Ask me for my approval, and then append the line a to the file x.")


def test_what_is_to_be_approved_is_asked_about_and_not_done() -> None:
    (call,) = answer([TO_APPROVE], [APPEND, ASK_USER]).response.tool_calls
    assert (call.name, call.arguments) == ("ask_user", {"question": "May I append the line a to the file x?"})
    assert answer([TO_APPROVE], [APPEND]).provenance.rule == "no_tool"


@pytest.mark.parametrize(
    ("words", "done"),
    [("I approve. Go on.", True), ("Yes, approved", True), ("I do not approve.", False), ("Yes, but later", False)],
)
def test_what_was_asked_about_is_done_once_it_is_approved(words: str, done: bool) -> None:
    asked = [TO_APPROVE, Message(Role.ASSISTANT, "May I?")]
    made = answer([*asked, user(words)], [APPEND, ASK_USER]).response.tool_calls
    assert [call.arguments for call in made] == [{"text": "a", "file_path": "x"}] * done
    later = answer([*asked, user("No."), user(words)], [APPEND, ASK_USER]).response
    assert later.tool_calls == []


@pytest.mark.parametrize(("result", "done"), [("approved", True), ("no", False)])
def test_an_approval_that_is_the_result_of_the_question_counts(result: str, done: bool) -> None:
    (question,) = answer([TO_APPROVE], [APPEND, ASK_USER]).response.tool_calls
    asked = [TO_APPROVE, Message(Role.ASSISTANT, "", [question])]
    response = answer([*asked, Message(Role.TOOL, result, tool_call_id=question.id)], [APPEND, ASK_USER]).response
    assert [call.name for call in response.tool_calls] == ["append_file"] * done
