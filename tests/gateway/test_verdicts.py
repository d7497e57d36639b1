"""Verification for readers: what is damaged is said, many who ask share one look, and one that takes too long ends."""

import asyncio
from pathlib import Path

import apsw
import httpx2
import pytest

from holdfast.core.errors import ReadTimeout
from holdfast.gateway.routes.dashboard.verification import Verdicts
from holdfast.store import NewEvent, Store


async def test_what_is_damaged_is_named(client: httpx2.AsyncClient, store: Store, tmp_path: Path) -> None:
    await store.append("s", [NewEvent("a", {"n": n}) for n in range(1, 7)])
    with apsw.Connection(f"{tmp_path}/holdfast.db") as beside:
        beside.execute("UPDATE transcript_events SET payload = CAST('{}' AS BLOB) WHERE seq = 3")
    found = (await client.get("/api/sessions/s/verification")).json()
    assert (found["ok"], found["badSeq"]) == (False, 3)
    assert "event 3" in found["problem"]


async def test_those_who_ask_at_once_share_one_verification(store: Store) -> None:
    await store.append("s", [NewEvent("a", {}) for _ in range(10)])
    verdicts = Verdicts()
    found = await asyncio.gather(*(verdicts.of(store, "s") for _ in range(20)))
    assert all(each is found[0] for each in found)
    assert (await verdicts.of(store, "s")).events == 10


async def test_one_that_takes_too_long_is_ended(store: Store) -> None:
    await store.append("s", [NewEvent("a", {})])
    with pytest.raises(ReadTimeout) as ended:
        await Verdicts(most_seconds=0).of(store, "s")
    assert ended.value.hint is not None and "holdfast sessions verify" in ended.value.hint
