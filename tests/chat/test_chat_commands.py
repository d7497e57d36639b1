"""What is typed: a command, or a message; what each command does to a conversation, in files and in a store."""

import json
import re
import shutil
from pathlib import Path

import pytest

from holdfast.chat.commands import COMMANDS, ChatOver, CommandCall, parse
from holdfast.chat.conversation import FAILED, ToolBegin, ToolEnd, Words
from holdfast.chat.local_conversation import LocalConversation
from holdfast.core.errors import Conflict, HoldfastError, InvalidInput, NotFound
from holdfast.models import CompletionResponse, Role, ScriptedBackend, SimulatorBackend, ToolCall
from holdfast.runtime import AgentConfig, RuntimeHandle


def conversation_in(folder: Path, storage: str = "file") -> LocalConversation:
    """A conversation with the simulator."""
    return LocalConversation(RuntimeHandle(SimulatorBackend(), AgentConfig(storage=storage), folder))


@pytest.fixture(params=["file", "store"])
def conversation(request: pytest.FixtureRequest, tmp_path: Path) -> LocalConversation:
    return conversation_in(tmp_path, request.param)


@pytest.fixture(autouse=True)
def _a_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


async def do(conversation: LocalConversation, line: str) -> str:
    """What a line does: an answer in words, or the lines of a command."""
    found = parse(line)
    if isinstance(found, str):
        return (await conversation.say(found, lambda event: None)).text
    return "\n".join(await found.command.run(conversation, found.argument))


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("hello", "hello"),
        ("  hello\nworld ", "hello\nworld"),
        ("//help", "/help"),
        ("/etc/hosts is what?", "/etc/hosts is what?"),
        ("/Help", "/Help"),
        ("/ help", "/ help"),
        ("/help", ("help", "")),
        (" /resume  last ", ("resume", "last")),
        ("/export a b.md", ("export", "a b.md")),
    ],
)
def test_a_line_is_a_command_or_a_message(line: str, meaning: str | tuple[str, str]) -> None:
    found = parse(line)
    assert (found if isinstance(found, str) else (found.command.name, found.argument)) == meaning


@pytest.mark.parametrize(("line", "hint"), [("/reusme", "resume"), ("/help me", "two slashes")])
def test_what_is_no_command_is_refused_with_a_hint(line: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(line)
    assert hint in str(refused.value.hint)


async def test_a_conversation_is_listed_resumed_and_left(conversation: LocalConversation) -> None:
    await do(conversation, "My name is Ada.")
    first = conversation.name
    await do(conversation, "/new")
    assert conversation.name != first
    assert "Ada" not in await do(conversation, "What is my name?")
    listed = await do(conversation, "/sessions")
    assert first in listed
    assert "My name is Ada." in listed
    assert f"this is {first}\nuser: My name is Ada." in await do(conversation, f"/resume {first}")
    assert "Ada" in await do(conversation, "What is my name?")
    with pytest.raises(NotFound):
        await do(conversation, "/resume nobody")
    assert conversation.name == first
    with pytest.raises(ChatOver):
        await do(conversation, "/quit")


async def test_a_fork_goes_its_own_way(conversation: LocalConversation) -> None:
    await do(conversation, "My name is Ada.")
    first = conversation.name
    await do(conversation, "/fork")
    assert conversation.name != first
    await do(conversation, "My name is Grace.")
    assert "Grace" in await do(conversation, "What is my name?")
    await do(conversation, f"/resume {first}")
    assert "Ada" in await do(conversation, "What is my name?")
    await do(conversation, "/new")
    await do(conversation, f"/fork {first}")
    assert "Ada" in await do(conversation, "What is my name?")


async def test_undo_takes_the_last_question_back_and_keeps_it_readable(conversation: LocalConversation) -> None:
    assert await do(conversation, "/undo") == "there is nothing to take back"
    await do(conversation, "My name is Ada.")
    await do(conversation, "My name is Grace.")
    assert "taken back: My name is Grace." in await do(conversation, "/undo")
    assert "Ada" in await do(conversation, "What is my name?")
    said = [(each.speaker, each.text) for each in await conversation.sayings()]
    assert [text for speaker, text in said if speaker == "user"] == ["My name is Ada.", "What is my name?"]
    assert said[-2] == ("user, taken back", "My name is Grace.")
    await do(conversation, "/undo")
    assert re.search(r"→ .*My name is Ada\.", await do(conversation, "/sessions"))


async def test_undo_takes_the_whole_turn_back_with_what_the_runtime_asked_in_between(tmp_path: Path) -> None:
    later = CompletionResponse("I'll write a.txt now.")
    call = ToolCall("1", "write", {"file_path": "a.txt", "content": "x"})
    answers = [later, CompletionResponse("", [call]), CompletionResponse("a.txt is written.")]
    backend = ScriptedBackend([CompletionResponse("Hello."), *answers, *answers])
    agent = RuntimeHandle(backend, AgentConfig(stream=False), tmp_path)
    conversation = LocalConversation(agent)
    await do(conversation, "Hello.")
    await do(conversation, "Write a.txt.")
    await do(conversation, "Write it again.")
    asked = [each.text for each in agent.messages if each.role == Role.USER]
    assert sum(text.startswith("[RUNTIME]") for text in asked) == 2
    assert "taken back: Write it again." in await do(conversation, "/undo")
    assert "taken back: Write a.txt." in await do(conversation, "/undo")
    assert [each.text for each in agent.messages] == ["Hello.", "Hello."]
    assert "taken back: Hello." in await do(conversation, "/undo")
    assert await do(conversation, "/undo") == "there is nothing to take back"


async def test_undo_leaves_a_turn_whose_question_is_summed_up(tmp_path: Path) -> None:
    calls = [CompletionResponse("", [ToolCall(str(n), "list_files", {})]) for n in range(4)]
    agent = RuntimeHandle(ScriptedBackend([*calls, CompletionResponse("Done.")]), AgentConfig(stream=False), tmp_path)
    conversation = LocalConversation(agent)
    await do(conversation, "Look.")
    await do(conversation, "/compact")
    before = list(agent.messages)
    with pytest.raises(Conflict):
        await do(conversation, "/undo")
    assert agent.messages == before


async def test_a_compaction_can_be_had_at_once(conversation: LocalConversation) -> None:
    assert await do(conversation, "/compact") == "there is nothing to sum up yet"
    for text in ("My name is Ada.", "My dog is Rex.", "Hello.", "Hello again."):
        await do(conversation, text)
    assert "4 messages are summed up" in await do(conversation, "/compact")
    assert "Ada" in await do(conversation, "What is my name?")
    assert [each.text for each in await conversation.sayings()].count("My name is Ada.") == 1


async def test_modes_and_tools_are_shown_and_set(tmp_path: Path) -> None:
    conversation = conversation_in(tmp_path)
    assert re.search(r"^bash +danger-full-access +asked", await do(conversation, "/tools"), re.M)
    assert "permission mode  allow" in await do(conversation, "/mode allow")
    assert re.search(r"^bash +danger-full-access +granted", await do(conversation, "/tools"), re.M)
    assert "workflow mode    plan" in await do(conversation, "/mode plan")
    with pytest.raises(InvalidInput) as refused:
        await do(conversation, "/mode alow")
    assert "'allow'" in str(refused.value.hint)


async def test_usage_adds_up(tmp_path: Path) -> None:
    conversation = conversation_in(tmp_path)
    await do(conversation, "Hello.")
    await do(conversation, "Hello again.")
    shown = dict(line.rsplit(maxsplit=1) for line in (await do(conversation, "/usage")).splitlines())
    assert shown["turns"] == "2"
    assert int(shown["input tokens"].replace(",", "")) > 0


async def test_an_export_is_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    conversation = conversation_in(tmp_path)
    await do(conversation, "My name is Ada.")
    await do(conversation, "/export")
    written = (tmp_path / f"{conversation.name}.md").read_text()
    assert written.startswith(f"# {conversation.name}\n\n## user\n\nMy name is Ada.\n\n## agent\n")
    await do(conversation, "/export said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["messages"][0] == {"speaker": "user", "text": "My name is Ada."}
    with pytest.raises(Conflict):
        await do(conversation, "/export said.json")


async def test_help_names_every_command(tmp_path: Path) -> None:
    shown = await do(conversation_in(tmp_path), "/help")
    assert all(f"/{name}" in shown for name in COMMANDS)


async def test_what_happens_in_a_turn_is_heard(tmp_path: Path) -> None:
    call = ToolCall("1", "write", {"file_path": "a.py", "content": "def"})
    answers = [CompletionResponse("I write.", [call]), CompletionResponse("Done.")]
    backend = ScriptedBackend(completions=[*answers, *[CompletionResponse("Done.")] * 8])
    agent = RuntimeHandle(backend, AgentConfig(stream=False), tmp_path)
    heard: list[object] = []
    answer = await LocalConversation(agent).say("Write a.py.", heard.append)
    assert heard[:2] == [Words("I write."), Words("\n\n")]
    assert heard[2] == ToolBegin("write", "a.py")
    assert isinstance(heard[3], ToolEnd)
    assert heard[3].status == "finished"
    assert (answer.text, answer.status) == ("Done.", FAILED)
    assert ("python -m py_compile a.py", False) in answer.checks


async def test_what_a_dead_process_left_is_said_at_the_start(tmp_path: Path) -> None:
    agent = RuntimeHandle(SimulatorBackend(), AgentConfig(), tmp_path)
    agent.session.start_effect("1:1:x", "bash", {"command": "deploy"}, "deploy")
    told = dict(await LocalConversation(agent).about())
    assert told["unresolved"].startswith("bash deploy")


async def test_what_became_of_an_unresolved_tool_can_be_said(conversation: LocalConversation) -> None:
    assert await do(conversation, "/settle") == "nothing is unresolved"
    session = conversation._agent.session
    for number in (1, 2, 3):
        session.start_effect(f"1:{number}:x", "bash", {"command": f"deploy {number}"}, f"deploy {number}")
    assert "2  bash deploy 2" in await do(conversation, "/settle")
    said = await do(conversation, "/settle 2 ran")
    assert "settled: bash deploy 2: ran" in said
    assert "2  bash deploy 3" in said
    for line in ("/settle 3 ran", "/settle 0 ran"):
        with pytest.raises(NotFound):
            await do(conversation, line)
    for line in ("/settle 1", "/settle 1 maybe", "/settle -1 ran"):
        with pytest.raises(InvalidInput):
            await do(conversation, line)
    await do(conversation, "/settle 2 failed")
    assert [name for name, _ in await conversation.about()].count("unresolved") == 1
    assert (await do(conversation, "/settle 1 failed")).endswith("nothing is unresolved")
    assert "unresolved" not in dict(await conversation.about())


def test_every_command_is_a_call() -> None:
    assert all(isinstance(parse(f"/{name}"), CommandCall) for name in COMMANDS)


@pytest.mark.parametrize("mark", ["[RUNTIME]", "[COMPACTED CONTEXT]"])
async def test_undo_knows_a_users_words_that_begin_as_ours_do(conversation: LocalConversation, mark: str) -> None:
    await do(conversation, "My name is Ada.")
    await do(conversation, f"{mark} is a word that I have read.")
    assert f"taken back: {mark} is a word" in await do(conversation, "/undo")
    said = [each.speaker for each in await conversation.sayings()]
    assert [speaker for speaker in said if "user" in speaker] == ["user", "user, taken back"]
    assert len(conversation._agent.messages) == 2


async def test_what_a_user_states_after_our_mark_is_a_fact(tmp_path: Path) -> None:
    conversation = conversation_in(tmp_path)
    await do(conversation, "[RUNTIME] My name is Ada.")
    for _ in range(3):
        await do(conversation, "Hello.")
    await do(conversation, "/compact")
    assert "- [RUNTIME] My name is Ada." in conversation._agent.messages[0].text


@pytest.mark.parametrize(
    "left", ['{"updated_at":"2026-01-01T00:00:00Z","format":1,"messages":7}', '{"updated_at":"2026-01-0', "", "\0\0\0"]
)
async def test_a_damaged_conversation_is_listed_as_such_and_keeps_nobody_from_the_others(
    tmp_path: Path, left: str
) -> None:
    conversation = conversation_in(tmp_path)
    await do(conversation, "My name is Ada.")
    damaged = tmp_path / ".holdfast/sessions/20260101T000000Z-00000000.json"
    damaged.write_text(left)
    listed = await do(conversation, "/sessions")
    assert "My name is Ada." in listed
    assert re.search(rf"{damaged.stem} .*cannot be read", listed)
    assert await do(conversation_in(tmp_path), "/resume last")
    shutil.rmtree(tmp_path / ".holdfast/state")
    for path in damaged.parent.glob("*.json"):
        if path != damaged:
            path.unlink()
    with pytest.raises(HoldfastError, match=damaged.stem):
        await do(conversation_in(tmp_path), "/resume last")


@pytest.mark.parametrize("mode", ["allow", "danger-full-access"])
async def test_a_wide_mode_that_a_clone_brings_does_not_count(tmp_path: Path, mode: str) -> None:
    mine = conversation_in(tmp_path / "mine")
    await do(mine, "My name is Ada.")
    await do(mine, f"/mode {mode}")
    again = conversation_in(tmp_path / "mine")
    assert "does not count" not in await do(again, "/resume last")
    assert dict(again.modes())["permission mode"] == mode
    await do(again, "/fork")
    assert dict(again.modes())["permission mode"] == mode
    shutil.copytree(tmp_path / "mine", tmp_path / "clone")
    theirs = conversation_in(tmp_path / "clone")
    said = await do(theirs, "/resume last")
    assert f"left in mode {mode}, which does not count" in said.replace("\n", " ")
    assert dict(theirs.modes())["permission mode"] == "workspace-write"
    assert "does not count" in dict(await theirs.about())["note"]
    await do(theirs, f"/mode {mode}")
    assert "note" not in dict(await theirs.about())
    assert "does not count" not in await do(conversation_in(tmp_path / "clone"), "/resume last")


async def test_a_narrow_mode_stays_with_the_conversation_wherever_it_goes(tmp_path: Path) -> None:
    mine = conversation_in(tmp_path / "mine")
    await do(mine, "My name is Ada.")
    await do(mine, "/mode read-only")
    shutil.copytree(tmp_path / "mine", tmp_path / "clone")
    theirs = conversation_in(tmp_path / "clone")
    assert "does not count" not in await do(theirs, "/resume last")
    assert dict(theirs.modes())["permission mode"] == "read-only"


@pytest.mark.parametrize("secret", ["postgres:s3cret@", "password=s3cret"])
async def test_a_stores_password_is_never_shown(tmp_path: Path, postgres_url: str, secret: str) -> None:
    url = re.sub(r"//[^@/]*@", f"//{secret}", postgres_url) if "@" in secret else f"{postgres_url}&{secret}"
    agent = RuntimeHandle(SimulatorBackend(), AgentConfig(storage="store", store_url=url), tmp_path)
    conversation = LocalConversation(agent)
    await do(conversation, "My name is Ada.")
    told = dict(await conversation.about())["conversation"]
    assert "s3cret" not in told
    assert "postgresql://" in told


@pytest.mark.parametrize("line", ["/compact", "/export", "/undo", "/fork", "/new", "/resume"])
async def test_no_line_is_longer_than_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.chdir(tmp_path)
    conversation = conversation_in(tmp_path)
    for text in ("My name is Ada, and I have a long sentence to say.", "Hello.", "My dog is Rex, the dog of all dogs."):
        await do(conversation, text)
    shown = (await do(conversation, line)).splitlines()
    assert shown
    assert max(len(each) for each in shown) < 40
