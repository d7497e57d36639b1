"""Turns with a model that has no tool calls of its own."""

from pathlib import Path

from tests.runtime.project.desk import agent, says, script

from holdfast.models import Role

WRITE = 'I write it.\nAction: write\nInput: {"file_path": "a.txt", "content": "x"}'


async def test_a_turn_by_the_text_protocol(tmp_path: Path) -> None:
    made = agent(tmp_path, says(WRITE), says("Created."), native=False)
    assert (await made.run("Create a.txt.")).startswith("Created.\n\nVerification:\n- PASS")
    assert (tmp_path / "a.txt").read_text() == "x"
    first, second = script(made).invocations
    assert first.tools == []
    assert "- write: " in first.messages[0].text
    assert [message.role for message in second.messages[1:]] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert second.messages[-1].text == "Observation from write:\nwrote 1 bytes to a.txt"
    assert (made.prompt_format, "tools" in made.prompt_sections) == ("react", True)


async def test_the_conversation_is_kept_in_the_form_of_tool_calls(tmp_path: Path) -> None:
    made = agent(tmp_path, says(WRITE), says("Created."), native=False)
    await made.run("Create a.txt.")
    assert [message.role for message in made.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert (made.messages[1].text, made.messages[1].tool_calls[0].name) == ("I write it.", "write")
    assert made.messages[2].tool_call_id == made.messages[1].tool_calls[0].id


async def test_a_malformed_call_is_repaired(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Action: write\nInput: {'file_path': 'a.txt'}"), says(WRITE), says("Ok."), native=False)
    await made.run("Create a.txt.")
    assert "could not be read, and nothing was run" in script(made).invocations[1].messages[-1].text
    assert (tmp_path / "a.txt").exists()


async def test_repairs_are_bounded_and_nothing_is_guessed(tmp_path: Path) -> None:
    broken = says('Action: write\nInput: {"file_path": "a.txt", "content": "x"} and so on')
    made = agent(tmp_path, *[broken] * 9, native=False)
    await made.run("Create a.txt.")
    assert len(script(made).invocations) == 3
    assert not (tmp_path / "a.txt").exists()
    assert made.session.last_completion_decision_code == "unreadable_call"
    assert made.last_turn_summary is not None
    assert made.last_turn_summary.definition_of_done.status == "failed"


async def test_a_conversation_can_go_from_one_kind_of_model_to_the_other(tmp_path: Path) -> None:
    made = agent(tmp_path, says(WRITE), says("Created."), native=False)
    await made.run("Create a.txt.")
    native = agent(tmp_path, says("It was a.txt."))
    native.resume_session(made.session.session_id)
    await native.run("Which file?")
    roles = [message.role for message in script(native).invocations[0].messages]
    assert roles == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER]
    assert native.prompt_format == "native"
