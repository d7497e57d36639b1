"""A function logged as an action: when it starts, how it ends, how long it took, and never in its way."""

import asyncio
import inspect
from typing import Any

import pytest
from tests.client.looking import actions
from tests.gateway.process import Running

from holdfast.client import HookAgent, HookAgentBlocking, SpoolFull
from holdfast.core.errors import InvalidInput


def details(url: str, session_id: str) -> list[dict[str, Any]]:
    """The details of its actions, without the times; each end is of the start before it."""
    found = actions(url, session_id)
    for start, end in zip(found[::2], found[1::2], strict=True):
        assert (end["parentId"], end["type"]) == (start["eventId"], start["type"])
        assert end["details"].pop("durationMs") >= 0
    return [action["details"] for action in found]


async def test_a_block(gateway: Running) -> None:
    async with HookAgent("block", url=gateway.url) as agent:
        async with agent.acting("book", {"seat": 3}) as output:
            output["ticket"] = 17
        with pytest.raises(ValueError, match="no seat"):
            async with agent.acting("book"):
                raise ValueError("no seat")
        await agent.flush()
    assert details(gateway.url, "block") == [
        {"status": "started", "input": {"seat": 3}},
        {"status": "finished", "output": {"ticket": 17}},
        {"status": "started"},
        {"status": "failed", "error": {"type": "ValueError", "message": "no seat"}},
    ]


async def test_functions_async_and_not(gateway: Running) -> None:
    async with HookAgent("functions", url=gateway.url) as agent:

        @agent.action("add")
        async def add(one: int, *, other: int) -> int:
            """Adds."""
            await asyncio.sleep(0)
            return one + other

        @agent.action()
        def fail(what: str) -> None:
            raise RuntimeError(what)

        assert await add(1, other=2) == 3
        with pytest.raises(RuntimeError):
            fail("secret argument")
        waiting = asyncio.create_task(agent.action("wait")(asyncio.sleep)(60))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await agent.flush()
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert inspect.iscoroutinefunction(add)
    assert [action["type"].rpartition(".")[2] for action in actions(gateway.url, "functions")] == [
        *("add", "add", "fail", "fail", "wait", "wait")
    ]
    found = details(gateway.url, "functions")
    assert [each["status"] for each in found[1::2]] == ["finished", "failed", "failed"]
    assert found[0] == {"status": "started"}  # arguments may be secrets: nobody asked for them
    assert found[5]["error"]["type"] == "CancelledError"


def test_the_blocking_twin(gateway: Running) -> None:
    with HookAgentBlocking("blocking-act", url=gateway.url) as agent:

        @agent.action("twice")
        def twice(number: int) -> int:
            return 2 * number

        with agent.acting("outer"):
            assert twice(4) == 8
        agent.flush()
    types = [action["type"] for action in actions(gateway.url, "blocking-act")]
    assert types == ["outer", "twice", "twice", "outer"]


async def test_the_end_of_the_work_is_never_replaced_by_an_error_of_ours(gateway: Running) -> None:
    async with HookAgent("tactful", url=gateway.url) as agent:
        async with agent.acting("odd") as output:
            output["not JSON"] = object()
        with pytest.raises(ValueError, match="\udcff"):
            async with agent.acting("odd"):
                raise ValueError("lone surrogate \udcff" + "x" * 10_000)
        await agent.flush()
    found = details(gateway.url, "tactful")
    assert found[1]["status"] == "finished"
    assert "not a JSON value" in found[1]["outputRefused"]
    assert len(found[3]["error"]["message"]) < 2_100

    small = HookAgent("small", url="http://127.0.0.1:1", spool_bytes=2_000)

    @small.action("work")
    async def work() -> int:
        while True:
            try:
                await small.log_action("fill")
            except SpoolFull:
                return 42

    assert await work() == 42
    with pytest.raises(SpoolFull):  # only before the work begins, so that nothing is half done
        await work()
    await small.close()


def test_a_generator_is_refused() -> None:
    agent = HookAgent("g", url="http://127.0.0.1:1")
    with pytest.raises(InvalidInput):

        @agent.action()
        def numbers() -> Any:
            yield 1
