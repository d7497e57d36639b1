"""What becomes of a tool's work and result: a turn that is cancelled leaves nothing running, a cut result says so."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from holdfast.models import Tool, ToolCall
from holdfast.runtime.permissions.modes import READ_ONLY
from holdfast.runtime.tools import ToolContext, declare
from holdfast.runtime.turn.tool_runs import MAX_RESULT, ToolRuns, unbroken


class Repeat(msgspec.Struct, frozen=True):
    """Say the letter x so many times."""

    times: int

    has_effect: ClassVar[bool] = False
    need: ClassVar[str] = READ_ONLY
    declaration: ClassVar[Tool] = declare(
        "repeat", "Say it.", {}, times={"type": "integer", "description": "How often."}
    )

    async def run(self, context: ToolContext) -> str:
        """Do it."""
        return "x" * self.times


class NoEffects:
    """Nothing is recorded."""

    def call_id(self, call: Any) -> str:
        return "c"

    async def once(self, call_id: str, call: Any, run: Any) -> tuple[str, str]:
        raise AssertionError("it has no effect")


@pytest.mark.parametrize(
    ("times", "end"), [(MAX_RESULT, "xx"), (MAX_RESULT + 7, "xx\n[7 more characters]")], ids=["it fits", "it does not"]
)
async def test_a_result_that_is_cut_says_how_much_is_missing(times: int, end: str, tmp_path: Path) -> None:
    nothing: Any = None
    runs = ToolRuns(
        [Repeat],
        workspace=tmp_path,
        context=lambda call_id: ToolContext(tmp_path, nothing, "main", "s", call_id),
        effects=NoEffects(),
    )
    told = (await runs.run(ToolCall("1", "repeat", {"times": times}))).text
    assert told == "x" * (MAX_RESULT - 2) + end


async def test_work_of_a_turn_that_is_cancelled_twice_does_not_go_on() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> tuple[str, str]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError("it waits for ever")

    running = asyncio.create_task(unbroken(work()))
    await begun.wait()
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(ended.wait(), 10)
