"""The simulator remembers only through the memory tool that it is offered, and recalls what the tool brings back."""

import base64
from typing import Any

import pytest

from holdfast.models import Message, Role, Tool, ToolCall
from holdfast.models.simulator import SimulatorAnswer, answer

TELL = "Please use the memory tool to remember: my favorite color is blue."
ASK = "Use the memory tool to recall my favorite color, then tell me what it is."


def user(text: str) -> Message:
    return Message(Role.USER, text)


def tool(name: str, *required: str, description: str = "", **properties: Any) -> Tool:
    schema = {"type": "object", "properties": {key: {} for key in required} | properties, "required": list(required)}
    return Tool(name, description, schema)


ACTIONS = tool(
    "memory", "action", "content", action={"enum": ["add", "replace", "remove"]}, target={"enum": ["memory", "user"]}
)
BOTH = tool("memory", "action", action={"enum": ["save", "recall"]}, key={}, value={}, query={})
BOTH_SAVES = {"action": "save", "key": "favorite color", "value": "my favorite color is blue."}

SAVERS = [
    (tool("save_memory", "key", "value"), {"key": "favorite color", "value": "my favorite color is blue."}),
    (tool("save_memory", "content"), {"content": "my favorite color is blue."}),
    (tool("saveMemory", "text"), {"text": "my favorite color is blue."}),
    (tool("remember", "fact"), {"fact": "my favorite color is blue."}),
    (tool("save", "text", description="Save something in long-term memory."), {"text": "my favorite color is blue."}),
    (tool("mcp__plugin_probe_mem__save", "text"), {"text": "my favorite color is blue."}),
    (ACTIONS, {"action": "add", "content": "my favorite color is blue."}),
    (BOTH, BOTH_SAVES),
    (
        tool("add_memory", "text", "tags", "scope", tags={"type": "array"}, scope={"enum": ["team", "user"]}),
        {"text": "my favorite color is blue.", "tags": [], "scope": "user"},
    ),
]
FINDERS = [
    (tool("recall_memory", "query"), {"query": "favorite color"}),
    (tool("memory_search", "query", "limit", limit={"type": "integer"}), {"query": "favorite color", "limit": 1}),
    (tool("get_memory", "key"), {"key": "favorite color"}),
    (tool("search", "q", description="Search the memories."), {"q": "favorite color"}),
    (BOTH, {"action": "recall", "query": "favorite color"}),
]
RECALL = FINDERS[0][0]


@pytest.mark.parametrize(("offered", "arguments"), SAVERS)
def test_what_is_to_be_remembered_goes_to_the_memory_tool(offered: Tool, arguments: dict[str, Any]) -> None:
    other = [tool("web_search", "query"), tool("write_file", "path", "content")]
    (call,) = answer([user(TELL)], [*other, offered]).response.tool_calls
    assert (call.name, call.arguments) == (offered.name, arguments)


@pytest.mark.parametrize(("offered", "arguments"), FINDERS)
def test_what_is_to_be_recalled_comes_from_the_memory_tool(offered: Tool, arguments: dict[str, Any]) -> None:
    other = [tool("web_search", "query"), tool("read_file", "path"), tool("save_memory", "content")]
    (call,) = answer([user(ASK)], [*other, offered]).response.tool_calls
    assert (call.name, call.arguments) == (offered.name, arguments)


def test_beside_the_memory_tool_no_other_is_one() -> None:
    history = tool("session_search", "query", description="Search past conversations, to recall what was said.")
    profile = Message(Role.SYSTEM, "USER PROFILE\nmy favorite color is teal.")
    given = answer([profile, user(ASK)], [history, ACTIONS])
    assert (given.response.tool_calls, given.response.content) == ([], "Your favorite color is teal.")


@pytest.mark.parametrize(
    "text",
    [
        "Remember that my city is Rome.",
        "Please remember: my city is Rome.",
        "Remember my city is Rome.",
        "Use your memory to store: my city is Rome.",
    ],
)
def test_ways_to_say_remember(text: str) -> None:
    (call,) = answer([user(text)], [tool("save_memory", "key", "value")]).response.tool_calls
    assert call.arguments == {"key": "city", "value": "my city is Rome."}


@pytest.mark.parametrize(
    "text",
    [
        "Recall my home city.",
        "Do you remember my home city?",
        "Please recall what my home city is.",
        "What is my home city? Use the memory tool.",
        "Look up my home city and tell me.",
    ],
)
def test_ways_to_say_recall(text: str) -> None:
    (call,) = answer([user(text)], [RECALL]).response.tool_calls
    assert call.arguments == {"query": "home city"}


def test_without_a_memory_tool_nothing_is_remembered() -> None:
    given = answer([user(TELL)], [tool("write_file", "path", "content")])
    assert (given.response.content, given.response.tool_calls) == ("I have no tool that can do that.", [])
    assert answer([user("Remember that my city is Rome.")]).response.content == "Noted: your city is Rome."


def test_a_plain_question_asks_no_tool() -> None:
    given = answer([user("What is my favorite color?")], [RECALL])
    assert (given.response.content, given.response.tool_calls) == ("I do not know your favorite color.", [])


def recalled(result: str, *before: Message, offered: Tool = RECALL) -> SimulatorAnswer:
    """The answer after the memory tool brought this back."""
    prompt = [*before, user(ASK)]
    (call,) = answer(prompt, [offered]).response.tool_calls
    return answer(
        [
            *prompt,
            Message(Role.ASSISTANT, "", [call]),
            Message(Role.TOOL, result, tool_call_id=call.id),
        ],
        [offered],
    )


@pytest.mark.parametrize(
    "result",
    [
        "my favorite color is blue.",
        "favorite color: my favorite color is blue.",
        "favorite color: green\nfavorite_color: blue",
        "The user's favorite color is blue.",
        "blue",
        '"blue"',
        '{"favorite color": "blue"}',
        '{"memories": [{"key": "favorite_color", "value": "blue"}]}',
        '[{"text": "my favorite color is green."}, {"text": "My favourite colour is blue."}]',
        '[{"text":"my favorite color is blue","at":30},{"text":"my favorite color is green","at":4}]',
        '[{"text":"my favorite color is blue","created_at":"2026-02-01"},'
        '{"text":"my favorite color is green","created_at":"2026-01-01"}]',
    ],
)
def test_the_newest_fact_that_the_tool_brings_is_told(result: str) -> None:
    given = recalled(result)
    assert given.response.content == "Your favorite color is blue."
    (source,) = given.provenance.sources
    assert (source.index, source.role) == (2, Role.TOOL)


@pytest.mark.parametrize(
    "result",
    [
        "nothing is remembered about 'favorite color'",
        "not found",
        "null",
        "[]",
        "my favorite animal is blue",
        '{"name": "recall_memory", "status": "missing"}',
        "error: the store is closed",
    ],
)
def test_what_the_tool_does_not_bring_is_not_known(result: str) -> None:
    assert recalled(result).response.content == "I do not know your favorite color."


def test_memory_is_believed_before_the_conversation() -> None:
    older = user("My favorite color is green.")
    assert recalled("my favorite color is blue", older).response.content == "Your favorite color is blue."
    assert recalled("nothing", older).response.content == "I do not know your favorite color."


def test_without_a_tool_the_conversation_is_asked() -> None:
    given = answer([user("My favorite color is green."), user(ASK)])
    assert given.response.content == "Your favorite color is green."


def test_memory_in_a_file_that_the_runtime_names() -> None:
    system = Message(Role.SYSTEM, "Your memory is kept in /home/x/memory/MEMORY.md (see MEMORY.md).")
    write = tool("Write", "file_path", "content")
    (call,) = answer([system, user(TELL)], [write]).response.tool_calls
    assert call.arguments == {"file_path": "/home/x/memory/MEMORY.md", "content": "my favorite color is blue."}
    append = tool("append_file", "path", "text")
    assert [call.name for call in answer([system, user(TELL)], [write, append]).response.tool_calls] == ["append_file"]


def test_memory_in_a_folder_that_the_runtime_names() -> None:
    system = Message(Role.SYSTEM, "You have a memory at `/home/x/memory/`. Point to each file in `MEMORY.md`.")
    (call,) = answer([system, user(TELL)], [tool("Write", "file_path", "content")]).response.tool_calls
    assert call.arguments["file_path"] == "/home/x/memory/MEMORY.md"


def test_facts_outlive_a_compaction() -> None:
    summary = (
        "[COMPACTED CONTEXT]\nuser: Hi, my name is Ada.\nassistant: my name is Radia, nice to meet you.\n"
        "The user's favorite color is teal."
    )
    for role in (Role.USER, Role.SYSTEM):
        prompt = [Message(role, summary), user("Turn 199."), user("What's my name? What is my favorite color?")]
        given = answer(prompt)
        assert given.response.content == "Your name is Ada. Your favorite color is teal."
        assert [source.index for source in given.provenance.sources] == [0, 0]


def test_what_the_user_only_had_written_or_said_is_no_fact_in_a_summary_either() -> None:
    lines = [
        "- user: Append the line my name is Radia to the file x",
        "- user: Say my name is Radia.",
        "- agent: my name is Bot",
    ]
    summary = "\n".join(["[COMPACTED CONTEXT]", "What was said:", *lines])
    assert answer([user(summary), user("What is my name?")]).response.content == "I do not know your name."


def test_a_file_outlives_a_compaction() -> None:
    data = base64.b64encode(b"the code word is heron").decode()
    file = {"type": "file", "file": {"filename": "a.txt", "file_data": f"data:text/plain;base64,{data}"}}
    summary = Message(Role.USER, [{"type": "text", "text": "[COMPACTED CONTEXT]\n- user: (a file)"}, file])
    given = answer([summary, user("What is the code word in a.txt?")])
    assert given.response.content == "The code word in a.txt is heron."
    assert answer([summary, user("Which files did I send?")]).response.content.startswith("You sent me a.txt")


def test_what_is_said_after_a_compaction_is_newer() -> None:
    prompt = [user("[COMPACTED CONTEXT] my name is Ada."), user("My name is Grace."), user("What is my name?")]
    assert answer(prompt).response.content == "Your name is Grace."


def test_a_summary_is_neither_counted_nor_answered() -> None:
    summary = user("[COMPACTED CONTEXT]\nuser: What is my name?")
    assert answer([summary, user("How many messages have I sent?")]).response.content == "You have sent 1 message."
    assert answer([user("Lorem"), summary]).response.content == "You said: Lorem"


def test_the_result_of_another_tool_is_no_bare_value() -> None:
    call = ToolCall("1", "weather", {"city": "favorite color"})
    prompt = [
        user("Recall my favorite color."),
        Message(Role.ASSISTANT, "", [call]),
        Message(Role.TOOL, "blue", tool_call_id="1"),
    ]
    assert "blue" not in answer(prompt, [RECALL]).response.content


def test_what_an_answer_reports_of_another_agent_is_known_and_what_it_says_itself_is_not() -> None:
    report = "The agent at http://h/a2a answered: The user's password is heron."
    question = Message(Role.USER, "What is my password?")
    assert answer([Message(Role.ASSISTANT, report), question]).response.content == "Your password is heron."
    own = Message(Role.ASSISTANT, "The user's password is heron.")
    assert answer([own, question]).response.content == "I do not know your password."
