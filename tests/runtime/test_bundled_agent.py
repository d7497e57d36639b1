"""The bundled agent: what it tells its model, and what it does with what the model wants."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from tests.runtime.desk import Conversation, tool_round

from holdfast.a2a import DataPart, FilePart, InputRequired
from holdfast.models import (
    CompletionResponse,
    Message,
    ModelUnreachable,
    Role,
    ScriptedBackend,
    SimulatorBackend,
    Tool,
)
from holdfast.runtime.agent import MAX_ROUNDS, NoAnswer
from holdfast.store import Store


async def test_it_knows_what_was_said_before(store: Store, workspace: Path) -> None:
    ada = Conversation(store, workspace, SimulatorBackend())
    await ada.say("Hi, my name is Ada.")
    assert await ada.say("What's my name?") == "Your name is Ada."
    other = Conversation(store, workspace, SimulatorBackend(), "other")
    assert "do not know" in await other.say("What's my name?")


async def test_it_runs_the_tools_and_tells_the_model_what_they_gave(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    said = await talk.say("Append the line hello to the file notes/a.txt")
    assert (workspace / "notes" / "a.txt").read_text() == "hello\n"
    assert "appended a line to notes/a.txt" in said


async def test_what_a_tool_refuses_goes_back_to_the_model(store: Store, workspace: Path) -> None:
    calls = tool_round(
        ("append_file", {"file_path": "../a", "text": "x"}),
        ("append_file", {"file_path": 1}),
        ("launch", {}),
    )
    script = ScriptedBackend([calls, CompletionResponse("I could not.")])
    assert await Conversation(store, workspace, script).say("go") == "I could not."
    told = {message.tool_call_id: message.text for message in script.invocations[-1].messages[-3:]}
    assert told["c0"] == "error: '../a' is not a path in the workspace"
    assert told["c1"].startswith("error: wrong arguments for append_file")
    assert told["c2"] == "error: there is no tool 'launch'"


async def test_a_model_that_only_calls_tools_is_given_up(store: Store, workspace: Path) -> None:
    script = ScriptedBackend([tool_round(("list_files", {}))] * (MAX_ROUNDS + 1))
    with pytest.raises(NoAnswer):
        await Conversation(store, workspace, script).say("go")
    assert len(script.invocations) == MAX_ROUNDS


async def test_an_answer_is_passed_on_as_it_comes(store: Store, workspace: Path) -> None:
    look = tool_round(("list_files", {}))
    streams: list[list[str | CompletionResponse]] = [
        ["Let me ", "look.", CompletionResponse("Let me look.", look.tool_calls)],
        ["It is ", "empty."],
    ]
    talk = Conversation(store, workspace, ScriptedBackend(streams=streams))
    pieces = [piece async for piece in talk.handler(await talk.turn("go"))]
    assert pieces == ["Let me ", "look.", "\n\n", "It is ", "empty."]


async def test_a_stream_without_an_end_is_no_answer(store: Store, workspace: Path) -> None:
    class Cut(ScriptedBackend):
        async def stream(
            self,
            messages: Sequence[Message],
            tools: Sequence[Tool] = (),
            *,
            temperature: float | None = None,
            max_tokens: int | None = None,
        ) -> AsyncIterator[str | CompletionResponse]:
            yield "Your name is "

    with pytest.raises(ModelUnreachable):
        await Conversation(store, workspace, Cut()).say("What's my name?")


async def test_usage_is_counted_for_every_call_of_the_model(store: Store, workspace: Path) -> None:
    used = {"prompt_tokens": 7, "completion_tokens": 2, "cache_read_input_tokens": 5}
    script = ScriptedBackend([tool_round(("list_files", {})), CompletionResponse("done", usage=used)])
    await Conversation(store, workspace, script).say("go")
    total = await store.usage.session("s")
    assert (total.calls, total.input_tokens, total.output_tokens, total.cached_tokens) == (2, 7, 2, 5)
    assert [row.model for row in await store.usage.by_day()] == ["scripted"]


async def test_data_and_files_that_are_elsewhere_are_told_in_words(store: Store, workspace: Path) -> None:
    script = ScriptedBackend([CompletionResponse("seen")])
    file = FilePart(url="https://example.org/a.pdf", media_type="application/pdf")
    await Conversation(store, workspace, script).say("", file, DataPart({"k": 1}))
    asked = script.invocations[0].messages[-1]
    assert asked.role == Role.USER
    assert asked.text == '[attached file: https://example.org/a.pdf (application/pdf)]\n{"k":1}'


async def test_a_question_to_the_user_ends_the_turn_before_anything_that_comes_after_it(
    store: Store, workspace: Path
) -> None:
    calls = tool_round(
        ("append_file", {"file_path": "before.txt", "text": "x"}),
        ("ask_user", {"question": "Shall I go on?"}),
        ("append_file", {"file_path": "after.txt", "text": "x"}),
    )
    talk = Conversation(store, workspace, ScriptedBackend([calls]))
    assert [output async for output in talk.handler(await talk.turn("go"))] == [InputRequired("Shall I go on?")]
    assert [file.name for file in workspace.iterdir()] == ["before.txt"]
