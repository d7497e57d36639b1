"""A tool with an effect runs once, whatever happens to the process in the middle of a turn."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runtime.desk import Conversation, tool_round
from tests.support.eventually import PATIENCE

from holdfast.a2a import Turn
from holdfast.core import types
from holdfast.core.errors import LeaseLost
from holdfast.models import CompletionResponse, ScriptedBackend, SimulatorBackend, ToolCall
from holdfast.runtime import file_tools
from holdfast.runtime.tool_calls import FRESH_SECONDS
from holdfast.runtime.turn import tool_runs
from holdfast.runtime.workspace import append_line
from holdfast.store import Store
from holdfast.store.part import Workers

LINE = "Append the line hello to the file a.txt"


@dataclass(slots=True)
class Sleeper:
    """Writes, and then sleeps until something has happened."""

    inner: Workers
    until: Callable[[], Awaitable[Any]]

    async def write(self, *given: Any, **options: Any) -> Any:
        written = await self.inner.write(*given, **options)
        await self.until()
        return written

    async def read(self, *given: Any) -> Any:
        return await self.inner.read(*given)


class Killed(BaseException):
    """Stands for a process that dies: nothing after it is written."""


async def again(talk: Conversation, turn: Turn) -> str:
    """The same turn in the process that takes it up."""
    return await talk.answer(replace(turn, lease=await talk.lease("heir"), interrupted=True))


async def test_an_effect_that_ended_is_not_run_again(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    turn = await talk.turn(LINE)
    first = await talk.answer(turn)
    assert await again(talk, turn) == first
    assert (workspace / "a.txt").read_text() == "hello\n"
    assert await store.effects.unresolved("s") == []


async def test_ids_of_the_model_do_not_make_a_call_another(store: Store, workspace: Path) -> None:
    arguments = {"file_path": "a.txt", "text": "hello"}
    rounds = [CompletionResponse("", [ToolCall(name, "append_file", arguments)]) for name in ("x", "y")]
    talk = Conversation(store, workspace, ScriptedBackend([rounds[0], CompletionResponse("done")]))
    turn = await talk.turn("go")
    await talk.answer(turn)
    talk.backend = ScriptedBackend([rounds[1], CompletionResponse("done")])
    await again(talk, turn)
    assert (workspace / "a.txt").read_text() == "hello\n"


async def test_the_same_call_twice_in_a_turn_is_two_calls(store: Store, workspace: Path) -> None:
    call = ("append_file", {"file_path": "a.txt", "text": "hello"})
    script = ScriptedBackend([tool_round(call, call), tool_round(call), CompletionResponse("done")])
    await Conversation(store, workspace, script).say("go")
    assert (workspace / "a.txt").read_text() == "hello\n" * 3


async def test_an_effect_whose_end_is_not_known_is_not_run_again_and_the_model_is_told(
    store: Store, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(folder: Path, name: str, line: str) -> None:
        append_line(folder, name, line)
        raise Killed

    talk = Conversation(store, workspace, SimulatorBackend())
    turn = await talk.turn(LINE)
    monkeypatch.setattr(file_tools, "append_line", die)
    with pytest.raises(Killed):
        await talk.answer(turn)
    monkeypatch.undo()
    said = await again(talk, turn)
    assert (workspace / "a.txt").read_text() == "hello\n"
    assert "may have run, and was not run again" in said
    (left,) = await store.effects.unresolved("s")
    assert (left.tool, left.call_id.split(":")[0]) == ("append_file", turn.task_id)


async def test_a_turn_that_is_taken_up_is_told_what_was_done(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    turn = await talk.turn(LINE)
    await talk.answer(turn)
    script = ScriptedBackend([CompletionResponse("It is done.")])
    talk.backend = script
    await again(talk, turn)
    assert "}: appended a line to a.txt" in script.invocations[0].messages[0].text


async def test_a_writer_that_was_fenced_off_runs_no_tool(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    turn = await talk.turn(LINE)
    await talk.lease("heir")
    with pytest.raises(LeaseLost):
        await talk.answer(turn)
    assert list(workspace.iterdir()) == []


async def test_a_process_that_slept_between_the_start_of_an_effect_and_the_tool_does_not_run_it(
    store: Store, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = [0.0]

    async def sleep_and_lose_the_lease() -> None:
        slept[0] = 2 * FRESH_SECONDS
        await talk.lease("heir")

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + slept[0])
    monkeypatch.setattr("holdfast.runtime.tool_calls.time", clock)
    talk = Conversation(store, workspace, SimulatorBackend())
    turn = await talk.turn(LINE)
    store.effects = replace(store.effects, workers=Sleeper(store.effects.workers, sleep_and_lose_the_lease))
    with pytest.raises(LeaseLost):
        await talk.answer(turn)
    assert list(workspace.iterdir()) == []


async def test_a_cancelled_turn_lets_a_tool_that_runs_come_to_its_end(
    store: Store, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    begun = asyncio.Event()

    def slowly(folder: Path, name: str, line: str) -> None:
        loop.call_soon_threadsafe(begun.set)
        append_line(folder, name, line)

    monkeypatch.setattr(file_tools, "append_line", slowly)
    monkeypatch.setattr(tool_runs, "unbroken", partial(tool_runs.unbroken, grace_seconds=PATIENCE))
    talk = Conversation(store, workspace, SimulatorBackend())
    running = asyncio.create_task(talk.answer(await talk.turn(LINE)))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (workspace / "a.txt").read_text() == "hello\n"
    assert await store.effects.unresolved("s") == []


async def test_a_memory_is_saved_once(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    turn = await talk.turn("Please use the memory tool to remember: my favorite color is blue.")
    await talk.answer(turn)
    await store.memories.put("agent:main", "favorite color", "my favorite color is green.")
    await again(talk, turn)
    values = [version.value() for version in await store.memories.history("agent:main", "favorite color")]
    assert values == ["my favorite color is blue.", "my favorite color is green."]


def calling(name: str, **arguments: str) -> ScriptedBackend:
    return ScriptedBackend([tool_round((name, arguments)), CompletionResponse("done")])


@pytest.mark.parametrize(
    "spelt", ["./log.txt", "././log.txt", ".//log.txt", "{workspace}/log.txt", "link.txt"], ids=str
)
async def test_a_file_spelt_otherwise_does_not_make_a_call_another(
    store: Store, workspace: Path, spelt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "link.txt").symlink_to("log.txt")
    talk = Conversation(store, workspace, calling("append_file", file_path="log.txt", text="hello"))
    turn = await talk.turn("go")
    await talk.answer(turn)
    talk.backend = calling("append_file", file_path=spelt.format(workspace=workspace), text="hello")
    await again(talk, turn)
    assert (workspace / "log.txt").read_text() == "hello\n"


async def test_an_agent_spelt_otherwise_does_not_make_a_question_another(store: Store, workspace: Path) -> None:
    urls = ("http://127.0.0.1:9/a2a", "HTTP://127.0.0.1:9/a2a#there")
    talk = Conversation(store, workspace, calling("ask_agent", url=urls[0], text="hello"))
    turn = await talk.turn("go")
    await talk.answer(turn)
    talk.backend = calling("ask_agent", url=urls[1], text="hello")
    await again(talk, turn)
    started = [event for event in await store.read("s") if event.type == types.TOOL_STARTED]
    assert len(started) == 1


async def test_a_turn_that_is_taken_up_is_shown_what_the_tools_were_asked(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, calling("append_file", file_path="./a.txt", text="hello"))
    turn = await talk.turn("go")
    await talk.answer(turn)
    long = {"file_path": "b.txt", "content": "x" * 100_000}
    await store.effects.start("s", f"{turn.task_id}:other:1", "write", long, shown=str(long))
    script = ScriptedBackend([CompletionResponse("It is done.")])
    talk.backend = script
    await again(talk, turn)
    told = script.invocations[0].messages[0].text
    assert '- append_file {"file_path":"a.txt","text":"hello"}: appended a line to' in told
    assert "- write {'file_path': 'b.txt', 'content': 'xxx" in told
    assert len(told) < 10_000
    assert len((await store.read("s"))[-1].payload) < 10_000


async def test_a_secret_in_what_a_tool_is_asked_is_not_shown(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, calling("append_file", file_path="a.txt", text="password: hunter2"))
    await talk.say("go")
    started = [event for event in await store.read("s") if event.type == types.TOOL_STARTED]
    assert "a.txt" in started[0].value()["shown"]
    assert "hunter2" not in started[0].value()["shown"]
    assert (workspace / "a.txt").read_text() == "password: hunter2\n"
