"""Whoever follows over connections that break all the time gets every event, once, in order."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.broken_feeds import Subscriber, Written, follow_through_chaos, over_websocket
from tests.support.chaos_proxy import ENDS


async def test_a_few_broken_connections(tmp_path: Path) -> None:
    result = await follow_through_chaos(tmp_path, 300, mean=15_000, breaks=20)
    assert result.wrong == []


@pytest.mark.long(seconds=35)
async def test_hundreds_of_broken_connections(tmp_path: Path) -> None:
    result = await follow_through_chaos(tmp_path, 5_000, mean=24_000, breaks=300)
    assert result.wrong == []
    assert result.written >= 5_000
    assert result.proxy.broken >= 300
    assert result.proxy.ends.keys() >= ENDS.keys() - {"silence"}


def test_the_check_sees_every_kind_of_damage() -> None:
    def after(*messages: tuple[str, int, int, int]) -> list[str]:
        subscriber = Subscriber(over_websocket, {}, frozenset({"a", "b"}), cursor="x.0.0")
        for session_id, seq, number, place in messages:
            body: dict[str, Any] = {"sessionId": session_id, "seq": seq, "cursor": f"x.0.{place}"}
            subscriber.take(body | {"data": {"details": {"n": number}}}, written)
        return subscriber.wrong

    written = Written({"a": [1, 2], "b": [3]}, 3, done=True)
    assert after(("a", 1, 0, 1), ("b", 1, 0, 2), ("a", 2, 1, 3), ("a", 3, 2, 4), ("b", 2, 3, 5)) == []
    assert "expected 2" in after(("a", 1, 0, 1), ("a", 3, 2, 2))[0], "a gap"
    assert "expected 2" in after(("a", 1, 0, 1), ("a", 1, 0, 2))[0], "twice"
    assert "expected 1" in after(("a", 2, 1, 1), ("a", 1, 0, 2))[0], "out of order"
    assert "says" in after(("a", 1, 0, 1), ("a", 2, 2, 2))[0], "another event's body"
    assert "of c" in after(("c", 1, 0, 1))[0], "another's session"
    assert "the cursor went" in after(("a", 1, 0, 2), ("b", 1, 0, 1))[0]
