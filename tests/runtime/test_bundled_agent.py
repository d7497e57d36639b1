"""The bundled agent: what it tells its model, and what it does with what the model wants."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.a2a import DataPart, FilePart, PastMessage, Role, TextPart, Turn
from holdfast.models import CompletionResponse, Message, SimulatorBackend, Tool, ToolCall
from holdfast.runtime import bundled_agent
from holdfast.runtime.agent import MAX_ROUNDS, NoAnswer


class Script:
    """A model that follows a script and keeps what it was told."""

    def __init__(self, *answers: CompletionResponse) -> None:
        self.answers = answers
        self.prompts: list[list[Message]] = []

    async def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> CompletionResponse:
        self.prompts.append(list(messages))
        return self.answers[min(len(self.prompts), len(self.answers)) - 1]


def turn(workspace: Path, text: str, *history: tuple[Role, str], parts: tuple[Any, ...] = ()) -> Turn:
    past = tuple(PastMessage(role, said, (TextPart(said),)) for role, said in history)
    return Turn("c", "t", "m", text, parts or (TextPart(text),), past, workspace)


async def answer(backend: Any, asked: Turn) -> str:
    return "".join([piece async for piece in bundled_agent(backend)(asked)])


async def test_it_knows_what_was_said_before(tmp_path: Path) -> None:
    asked = turn(tmp_path, "What's my name?", (Role.USER, "Hi, my name is Ada."), (Role.AGENT, "Nice to meet you."))
    assert await answer(SimulatorBackend(), asked) == "Your name is Ada."
    assert "do not know" in await answer(SimulatorBackend(), turn(tmp_path, "What's my name?"))


async def test_it_runs_the_tools_and_tells_the_model_what_they_gave(tmp_path: Path) -> None:
    said = await answer(SimulatorBackend(), turn(tmp_path, "Append the line hello to the file notes/a.txt"))
    assert (tmp_path / "notes" / "a.txt").read_text() == "hello\n"
    assert "appended a line to notes/a.txt" in said


async def test_what_a_tool_refuses_goes_back_to_the_model(tmp_path: Path) -> None:
    calls = [
        ToolCall("1", "append_file", {"file_path": "../a", "text": "x"}),
        ToolCall("2", "append_file", {"file_path": 1}),
        ToolCall("3", "launch", {}),
    ]
    script = Script(CompletionResponse("", calls), CompletionResponse("I could not."))
    assert await answer(script, turn(tmp_path, "go")) == "I could not."
    results = {message.tool_call_id: message.text for message in script.prompts[-1][-3:]}
    assert results["1"] == "error: '../a' is not a path in the workspace"
    assert results["2"].startswith("error: wrong arguments for append_file")
    assert results["3"] == "error: there is no tool 'launch'"


async def test_a_model_that_only_calls_tools_is_given_up(tmp_path: Path) -> None:
    call = ToolCall("1", "append_file", {"file_path": "a", "text": "x"})
    script = Script(CompletionResponse("", [call]))
    with pytest.raises(NoAnswer):
        await answer(script, turn(tmp_path, "go"))
    assert len(script.prompts) == MAX_ROUNDS


async def test_parts_that_are_not_text_are_told_in_words(tmp_path: Path) -> None:
    script = Script(CompletionResponse("seen"))
    parts = (FilePart(raw="AAE=", filename="a.pdf", media_type="application/pdf"), DataPart({"k": 1}))
    await answer(script, turn(tmp_path, "", parts=parts))
    assert script.prompts[0][-1].text == '[attached file: a.pdf (application/pdf)]\n{"k":1}'
