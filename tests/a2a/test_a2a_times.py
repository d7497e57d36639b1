"""The times that a server has unless it is given others: long enough for its turns and for the looks of the others."""

import asyncio
from pathlib import Path

import pytest
from tests.a2a.harness import Gate, running, words

from holdfast.a2a.turns.timing import TurnTiming
from holdfast.store import Store

DEFAULT = TurnTiming()
SEVERAL = 3


def test_a_server_speaks_several_times_while_it_is_believed() -> None:
    assert DEFAULT.alive_ms >= SEVERAL * DEFAULT.round_seconds * 1_000
    assert DEFAULT.lease_ms >= SEVERAL * DEFAULT.renew_seconds * 1_000


@pytest.mark.long
async def test_a_turn_that_lasts_longer_than_its_lease_is_left_to_its_server(store: Store, tmp_path: Path) -> None:
    """Another server, which has a message for the same conversation, looks often, and waits."""
    gate, other = Gate(), Gate()
    async with (
        running(store, gate, timing=DEFAULT, resume=True, workspace=tmp_path) as client,
        running(store, other, resume=True, workspace=tmp_path) as elsewhere,
    ):
        first = asyncio.create_task(client.send("one", message_id="one"))
        await gate.seen(1)
        second = asyncio.create_task(elsewhere.send("two", message_id="two"))
        await asyncio.sleep(1.5 * max(DEFAULT.alive_ms, DEFAULT.lease_ms) / 1_000)
        assert (len(gate.turns), gate.interrupted, other.turns) == (1, [], [])
        gate.let(1)
        other.let(1)
        assert [words(await sent) for sent in (first, second)] == ["did one", "did two"]
