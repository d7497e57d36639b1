"""Commands that follow a gateway while it writes: everything once, in order, until it stops."""

import asyncio
import json
import signal
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.process import PATIENCE, Running, running
from tests.support.processes import Process, holdfast
from tests.support.web import async_web_client

WRITERS = 4
EACH = 60


async def write(gateway: Running, name: str, count: int = EACH, start: int = 0) -> None:
    async with async_web_client(base_url=gateway.url) as client:
        for number in range(start, start + count):
            kind = "responses" if number % 5 == 4 else ""
            body = {"details": {"n": number}} | ({} if kind else {"type": "note"})
            answer = await client.post(f"/api/actions/{name}/{kind}".rstrip("/"), json=body)
            assert answer.status_code == 201, answer.text


async def next_message(process: Process) -> Any:
    assert process.stdout is not None
    return json.loads(await asyncio.to_thread(process.stdout.readline))


@pytest.mark.parametrize("session", [["s0"], []], ids=["one", "all"])
async def test_tail_shows_everything_once_and_in_order(tmp_path: Path, session: list[str]) -> None:
    follow = ["sessions", "tail", *session, "-n", "2000", "--json", "--data", str(tmp_path)]
    with ExitStack() as stack:
        gateway = stack.enter_context(running(tmp_path))
        for number in range(WRITERS):
            await write(gateway, f"s{number}", count=1)
        tail = stack.enter_context(holdfast(*follow))
        names = session or [f"s{number}" for number in range(WRITERS)]
        seen = []
        async with asyncio.timeout(PATIENCE):
            if session:
                seen.append(await next_message(tail))
            else:
                await followers(gateway, 1)
            await asyncio.gather(*(write(gateway, name, EACH, start=1) for name in names))
            while len(seen) < len(names) * EACH + len(session):
                seen.append(await next_message(tail))
            gateway.process.send_signal(signal.SIGTERM)
            out, err = await asyncio.to_thread(tail.communicate, PATIENCE)
    assert (tail.returncode, json.loads(out)["code"]) == (2, "store_unavailable")
    assert "error: the feed ended: the gateway stops" in err
    assert "Traceback" not in err
    found = defaultdict(list)
    for message in seen:
        found[message["sessionId"]].append(message["seq"])
        said = message["data"]["details"] if message["type"] == "action" else message["data"]
        assert said == {"n": message["seq"] - 1}
    first = 1 if session else 2
    assert found == {name: list(range(first, EACH + 2)) for name in names}


async def followers(gateway: Running, count: int) -> None:
    """Wait until the gateway has so many live feeds."""
    async with asyncio.timeout(PATIENCE), async_web_client(base_url=gateway.url) as client:
        while (await client.get("/health")).json()["websocket"]["totalConnections"] < count:
            await asyncio.sleep(0.02)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def until_written(root: Path, names: list[str], count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        for name in names:
            folder = root / "sessions" / name
            while not (folder / "metadata.json").exists() or exported(folder) < count:
                await asyncio.sleep(0.02)


def exported(folder: Path) -> int:
    return int(json.loads((folder / "metadata.json").read_text())["exported"]["seq"])


async def test_files_that_follow_survive_a_kill_and_double_nothing(tmp_path: Path) -> None:
    root, names = tmp_path / "files", [f"s{number}" for number in range(WRITERS)]
    follow = ["sessions", "export", "--layout", "files", "--follow", "-o", str(root), "--data", str(tmp_path / "data")]
    with running(tmp_path / "data") as gateway:
        await write(gateway, "s0", count=10)
        with holdfast(*follow) as first:
            await until_written(root, ["s0"], 10)
            writing = [asyncio.create_task(write(gateway, name, start=10 if name == "s0" else 0)) for name in names]
            await until_written(root, names, 3)
            first.kill()
        await asyncio.gather(*writing)
        with holdfast(*follow) as second:
            await until_written(root, names, EACH)
            await until_written(root, ["s0"], EACH + 10)
            await write(gateway, "late", count=7)
            await until_written(root, ["late"], 7)
            second.send_signal(signal.SIGINT)
            _, err = await asyncio.to_thread(second.communicate, PATIENCE)
    assert (second.returncode, err) == (130, "")
    for name, count in {**dict.fromkeys(names, EACH), "s0": EACH + 10, "late": 7}.items():
        folder = root / "sessions" / name
        found = lines(folder / "actions.jsonl") + lines(folder / "responses.jsonl")
        assert sorted(line["seq"] for line in found) == list(range(1, count + 1)), name
        for file in ("actions.jsonl", "responses.jsonl"):
            seqs = [line["seq"] for line in lines(folder / file)]
            assert seqs == sorted(seqs)


async def test_a_session_that_is_deleted_does_not_end_the_following(tmp_path: Path) -> None:
    root = tmp_path / "files"
    with running(tmp_path / "data") as gateway:
        await write(gateway, "gone", count=3)
        follow = ["sessions", "export", "--layout", "files", "--follow", "-o", str(root), "--url", gateway.url]
        with holdfast(*follow) as process:
            await until_written(root, ["gone"], 3)
            async with async_web_client(base_url=gateway.url) as client:
                assert (await client.delete("/api/sessions/gone")).status_code == 200
            await write(gateway, "next", count=3)
            await until_written(root, ["next"], 3)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
