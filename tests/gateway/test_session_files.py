"""`serve --files`: a process of its own keeps all sessions as files, whoever is killed, and troubles nobody."""

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.process import running, served
from tests.support.disks import fill, small_disk
from tests.support.eventually import eventually, wait_until
from tests.support.processes import ended

from holdfast.gateway.operations.session_files import FilesProcess, SessionFiles, keeping
from holdfast.store import NewEvent, Store
from holdfast.store.transfer import FolderMirror

PROGRAM = (sys.executable, "-m", "holdfast.cli.session_files")


def notes(*numbers: int) -> list[NewEvent]:
    return [NewEvent("note", {"n": number}) for number in numbers]


def said(root: Path) -> dict[str, list[int | None]]:
    """What the files say of each session: its notes and responses, in order."""
    found = {}
    for folder in sorted((root / "sessions").iterdir()):
        with suppress(FileNotFoundError):
            lines = (folder / "actions.jsonl").read_text().splitlines()
            found[folder.name] = [(json.loads(line)["details"] or {}).get("n") for line in lines]
    return found


@asynccontextmanager
async def kept(store: Store, root: Path) -> AsyncIterator[FilesProcess]:
    """The process at work, and caught up, beside a gateway in this process."""
    async with served(store) as gateway:
        url = f"http://127.0.0.1:{gateway.port}"
        files = SessionFiles(root, PROGRAM, FolderMirror(root).prepare)
        async with keeping(files, url, "", asyncio.Event()) as process:
            assert process is not None
            process.served.set()
            await eventually(lambda: process.caught_up)
            yield process


@pytest.mark.own_store
async def test_the_files_follow_what_happens_and_what_is_gone_goes(store: Store, tmp_path: Path) -> None:
    root = tmp_path / "files"
    await store.append("before", notes(1, 2))
    await store.for_tenant("other").append("theirs", notes(9))
    async with kept(store, root):
        assert said(root) == {"before": [1, 2]}
        await store.append("s", [*notes(1, 2), NewEvent("holdfast.response", {"n": 3})])
        await store.keys.resolve("k", session_id="s")
        await store.keys.reset("k", new_session_id="next")
        await store.append("next", notes(1))
        await store.forks.fork("s", at=2, new_session_id="forked")
        await store.deletion.delete("before")
        expected = {"forked": [1, 2], "next": [1], "s": [1, 2, 3]}
        await eventually(lambda: said(root) == expected)
        await store.erasure.erase("s", [2], reason="asked")
        await eventually(lambda: said(root) == expected | {"s": [1, None, 3]})
        await store.state.patch("next", {"phase": "ready"})
        await store.sessions.finalize("next", "completed")
        await eventually((root / "sessions/next/final.json").exists)
        state = json.loads((root / "sessions/next/state.json").read_text())
        assert state["phase"] == "ready"
    assert [path for path in root.rglob("*") if path.stat().st_mode & 0o077] == []


@pytest.mark.own_store
async def test_a_process_that_is_killed_is_followed_by_one_that_goes_on(store: Store, tmp_path: Path) -> None:
    root = tmp_path / "files"
    await store.append("s", notes(1))
    async with kept(store, root) as process:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        await store.append("s", notes(2))
        await store.append("gone", notes(1))
        await eventually(lambda: said(root) == {"s": [1, 2], "gone": [1]})
        await eventually(lambda: process.starts == 2 and process.caught_up and process.trouble is None)


@pytest.mark.own_store
async def test_a_full_disk_is_told_and_made_good(store: Store, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk", 2) as disk:
        async with kept(store, disk / "files") as process:
            fill(disk / "ballast", 4096)
            await store.append("s", [NewEvent("note", {"n": 1, "text": "x" * 100_000})])
            assert "no room" in str(await eventually(lambda: process.trouble))
            (disk / "ballast").unlink()
            await eventually(lambda: said(disk / "files") == {"s": [1]})
            await eventually(lambda: not process.trouble)


def test_a_killed_gateway_takes_the_process_along_and_the_next_goes_on(tmp_path: Path) -> None:
    data, root = tmp_path / "data", tmp_path / "files"
    options = ("--files", str(root))
    with running(data, *options, as_child=True) as gateway:
        first = await_caught_up(gateway.url)
        post(gateway.url, "s", 1)
        wait_until(lambda: said(root) == {"s": [1]})
        post(gateway.url, "gone", 1)
        wait_until(lambda: "gone" in said(root))
        post(gateway.url, "s", 2)
        gateway.process.kill()
        wait_until(lambda: not alive(first["pid"]))
    with running(data) as gateway:
        httpx2.delete(f"{gateway.url}/api/sessions/gone").raise_for_status()
    with running(data, *options) as gateway:
        second = await_caught_up(gateway.url)
        assert said(root) == {"s": [1, 2]}
        assert gateway.stop()[0] == 0
        assert not alive(second["pid"])


def test_a_folder_of_somebody_else_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "files" / "sessions").mkdir(parents=True)
    done = ended("serve", "--port", "0", "--data", str(tmp_path / "data"), "--files", str(tmp_path / "files"))
    assert done.returncode == 2
    assert "not written here" in done.stderr and "new or an empty folder" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_folder_that_another_has_is_a_warning_and_the_gateway_serves(tmp_path: Path) -> None:
    root = tmp_path / "files"
    with FolderMirror(root), running(tmp_path / "data", "--files", str(root)) as gateway:
        wait_until(lambda: status(gateway.url)["trouble"])
        post(gateway.url, "s", 1)
        troubles = httpx2.get(gateway.url + "/api/overview").json()["troubles"]
        assert [each["severity"] for each in troubles if "files of sessions" in each["what"]] == ["warning"]
        assert httpx2.get(gateway.url + "/readyz").status_code == 200


@pytest.mark.long(seconds=60)
@pytest.mark.timeout(900)
def test_whoever_is_killed_whenever_the_files_are_complete_in_the_end(tmp_path: Path) -> None:
    data, root = tmp_path / "data", tmp_path / "files"
    chance = random.Random(18)
    written: dict[str, list[int | None]] = {}
    sessions = [f"s{number}" for number in range(8)]
    for round_ in range(8):
        with running(data, "--files", str(root), as_child=True) as gateway:
            kills_keeper = chance.random() < 0.5
            for number in range(60):
                session = chance.choice(sessions)
                post(gateway.url, session, 100 * round_ + number)
                written.setdefault(session, []).append(100 * round_ + number)
                if number == 30 and kills_keeper and (pid := status(gateway.url)["pid"]) is not None:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            if chance.random() < 0.3:
                gone = chance.choice(sorted(written))
                httpx2.delete(f"{gateway.url}/api/sessions/{gone}").raise_for_status()
                del written[gone]
                sessions.remove(gone)
            if chance.random() < 0.5:
                gateway.process.kill()
            else:
                gateway.stop()
        for path in root.glob("sessions/*/actions.jsonl"):
            assert path.read_bytes()[-1:] in {b"\n", b""}
    with running(data, "--files", str(root)) as gateway:
        await_caught_up(gateway.url)
        assert said(root) == dict(sorted(written.items()))


def post(url: str, session_id: str, number: int) -> None:
    answer = httpx2.post(f"{url}/api/actions/{session_id}", json={"type": "note", "details": {"n": number}})
    assert answer.status_code == 201, answer.text


def status(url: str) -> Any:
    return httpx2.get(f"{url}/api/status").json()["files"]


def await_caught_up(url: str) -> Any:
    def look() -> Any:
        found = status(url)
        return found if found["caughtUp"] else None

    return wait_until(look, pause=0.05)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
