"""Doctor and probes beside a gateway that writes: its files stay, no write is refused, nothing is lost."""

import asyncio
import json
import random
from pathlib import Path

import pytest
from tests.gateway.process import running
from tests.support.looks import look_beside_writers
from tests.support.processes import ended

from holdfast.store import NewEvent, open_store


async def test_a_few_looks_disturb_nothing(tmp_path: Path) -> None:
    result = await look_beside_writers(tmp_path / "data", 5, seed=20261117, at_once=2)
    assert result.wrong == []
    assert (result.looks, result.acknowledged > 4) == (5, True)


async def test_looks_at_a_postgresql_store_disturb_nothing(tmp_path: Path, postgres_url: str) -> None:
    result = await look_beside_writers(tmp_path / "data", 2, seed=20261119, store=postgres_url)
    assert (result.wrong, result.looks) == ([], 2)


@pytest.mark.long(seconds=40)
async def test_a_hundred_looks_disturb_nothing(tmp_path: Path) -> None:
    result = await look_beside_writers(tmp_path / "data", 100, seed=20261118, at_once=2)
    assert result.wrong == []
    assert result.looks == 100


@pytest.mark.long(seconds=40)
async def test_doctor_is_right_while_gateways_come_and_go(tmp_path: Path) -> None:
    """They are stopped and killed in turn. Only that one has just gone may be said to be wrong."""
    data, chance = tmp_path / "data", random.Random(20261120)
    async with await open_store(f"sqlite:///{data}/holdfast.db") as store:
        await store.append("s", [NewEvent("note", {"n": n}) for n in range(100)])
    examinations = asyncio.create_task(asyncio.to_thread(_examine, data, 40))
    while not examinations.done():
        with running(data) as gateway:
            await asyncio.sleep(chance.random() * 0.3)
            if chance.random() < 0.5:
                gateway.stop()
            else:
                gateway.process.kill()
                await asyncio.to_thread(gateway.process.wait)
    assert await examinations == []


def _examine(data: Path, count: int) -> list[str]:
    """What doctor found wrong, in so many examinations."""
    wrong = []
    for _ in range(count):
        seen = ended("doctor", "--json", "--data", str(data))
        found = json.loads(seen.stdout).get("findings")
        if found is None:
            wrong.append(seen.stdout)
        else:
            wrong += [
                str(each) for each in found if each["state"] in ("failed", "unknown") and each["check"] != "gateway"
            ]
    return wrong
