"""Looks at a store beside a gateway that writes: doctor in its modes, and a probe of its rows, by seed.

Every look is a process of its own, as an operator's is. The gateway's files must stay the same ones, every write must
be acknowledged, what was acknowledged must be there, and no look may find anything wrong.
"""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.gateway.process import running
from tests.support.processes import ForkedProcess, ended, spawn
from tests.support.web import async_web_client

from holdfast.store import open_store

WRITERS = 4
PAUSE = 0.005
LOOKS = {
    "doctor": ("doctor",),
    "inspect": ("doctor", "--session-sqlite", "inspect"),
    "dry-run": ("doctor", "--session-sqlite", "dry-run"),
    "validate": ("doctor", "--session-sqlite", "validate"),
    "probe": (),
}
BESIDE = ("", "-wal", "-shm", ".reserve")


@dataclass(slots=True)
class LooksResult:
    """What was done, how long writes took, and what was wrong."""

    looks: int = 0
    acknowledged: int = 0
    write_seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


async def look_beside_writers(
    data: Path, looks: int, *, seed: int, at_once: int = 1, store: str | None = None
) -> LooksResult:
    """Run so many looks at the store of a gateway, in its data folder or elsewhere, while clients write to it."""
    url = store or f"sqlite:///{data}/holdfast.db"
    chance, result = random.Random(seed), LooksResult()
    left = [chance.choice(list(LOOKS)) for _ in range(looks)]
    with running(data, "--store", url) as gateway:
        done = asyncio.Event()
        writers = [asyncio.create_task(_write(gateway.url, n, done, result)) for n in range(WRITERS)]
        while result.acknowledged < WRITERS and not any(writer.done() for writer in writers):
            await asyncio.sleep(0.01)
        before = _inodes(data)

        async def look() -> None:
            while left and not result.wrong:
                await _look(data, url, left.pop(), result)

        await asyncio.gather(*(look() for _ in range(at_once)))
        done.set()
        await asyncio.gather(*writers)
        if _inodes(data) != before:
            result.wrong.append(f"the gateway's files were {before}, and are {_inodes(data)}")
        code, said = gateway.stop()
        if code or said:
            result.wrong.append(f"the gateway ended with {code}: {said[-300:]}")
    await _compare(url, result)
    return result


async def _write(url: str, number: int, done: asyncio.Event, result: LooksResult) -> None:
    async with async_web_client(base_url=url) as client:
        count = 0
        while not done.is_set():
            began = time.perf_counter()
            answer = await client.post(f"/api/actions/s{number}", json={"type": "note", "details": {"n": count}})
            result.write_seconds.append(time.perf_counter() - began)
            if answer.status_code >= 300:
                result.wrong.append(f"a write was answered {answer.status_code}: {answer.text[:200]}")
                return
            count += 1
            result.acknowledged += 1
            await asyncio.sleep(PAUSE)


async def _look(data: Path, url: str, name: str, result: LooksResult) -> None:
    words = LOOKS[name]
    if not words:
        code = await asyncio.to_thread(ForkedProcess(("probe",), spawn(_probe, url)).wait)
        if code:
            result.wrong.append(f"a probe ended with {code}")
    else:
        seen = await asyncio.to_thread(ended, *words, "--json", "--data", str(data), "--store", url)
        found = json.loads(seen.stdout or "{}").get("findings", ())
        wrong = [each for each in found if each["state"] == "failed" or _is_unknown(each)]
        if seen.returncode or wrong:
            result.wrong.append(
                f"{name} ended with {seen.returncode}: {wrong or seen.stdout[-400:]}{seen.stderr[-200:]}"
            )
    result.looks += 1


def _is_unknown(finding: dict[str, Any]) -> bool:
    """Whether a check could not be done, though it should; a PostgreSQL without checksums is no fault of the look."""
    return finding["state"] == "unknown" and "checksums" not in finding["reason"]


def _probe(url: str) -> None:
    """Count rows, and read a session to its end."""

    async def count() -> None:
        async with await open_store(url, read_only=True) as store:
            events = await store.read("s0")
            assert [each.seq for each in events] == list(range(1, len(events) + 1))

    asyncio.run(count())


async def _compare(url: str, result: LooksResult) -> None:
    kept = 0
    async with await open_store(url, read_only=True) as store:
        for number in range(WRITERS):
            kept += sum(event.type == "note" for event in await store.read(f"s{number}"))
            verdict = await store.verification.session(f"s{number}")
            if verdict.problem is not None:
                result.wrong.append(verdict.problem)
        result.wrong += await store.verification.files()
    if kept != result.acknowledged:
        result.wrong.append(f"{result.acknowledged} writes were acknowledged, {kept} are there")


def _inodes(data: Path) -> dict[str, int | None]:
    files = {suffix: data / f"holdfast.db{suffix}" for suffix in BESIDE}
    return {suffix: file.stat().st_ino if file.exists() else None for suffix, file in files.items()}
