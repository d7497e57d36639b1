"""Sessions in and out over HTTP: the same bytes come back, what breaks off never looks whole, nothing is left over."""

import asyncio
import contextlib
import hashlib
import io
import json
import random
import signal
import threading
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import httpx2
import psycopg
import pytest
from tests.gateway.process import PATIENCE, running, served
from tests.support.eventually import eventually

from holdfast.core import Event
from holdfast.core.chain import GENESIS, seal, seal_digest
from holdfast.gateway.api.pipe import Pipe
from holdfast.gateway.app import create_app
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.portable.lines import decode_event

Client = httpx2.AsyncClient


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


@asynccontextmanager
async def client_of(store: Store) -> AsyncIterator[Client]:
    """The store's gateway on a real socket."""
    async with (
        served(store) as here,
        Client(base_url=f"http://127.0.0.1:{here.port}", trust_env=False, timeout=PATIENCE) as made,
    ):
        yield made


def exporting() -> bool:
    """Whether an archive is being made."""
    return any(thread.name == "holdfast-export" for thread in threading.enumerate())


def damage(url: str, sql: str) -> None:
    """Change the database behind the store's back."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.set_busy_timeout(10_000)
        connection.execute(sql.format(blob="x'7B7D'"))
        connection.close()
    else:
        with psycopg.connect(url) as session:
            session.execute(sql.format(blob="'\\x7B7D'::bytea").encode())


async def varied(store: Store) -> None:
    """Sessions with everything that an archive can hold."""
    await store.sessions.create("b", user_id="ada", tags=["t"], initial={"input": "hi"}, metadata={"n": 2**80})
    await store.append("b", [NewEvent("x", b'{ "line" :\n "break" }'), NewEvent("y", {"secret": 1})])
    await store.erasure.erase("b", [3], reason="asked for")
    await store.state.patch("b", {"phase": "air"})
    await store.goals.add("b", "land")
    await store.keys.resolve("agent:main:b", session_id="b")
    await store.keys.reset("agent:main:b", new_session_id="c")
    await store.forks.fork("b", at=2, new_session_id="a")
    kept = await store.attachments.put(b"\0\1 bytes")
    await store.attachments.attach("c", kept.digest, name="a.bin", media_type="application/octet-stream")
    await store.memories.put("team", "wind", {"knots": 12})
    await store.append("long", [NewEvent("n", {"n": n, "text": f"{n:05d} " * 20}) for n in range(1_200)])


async def fill_with_noise(store: Store) -> None:
    """A session that no packing makes small: more than sockets and pipe hold together."""
    chance = random.Random(7)
    for _ in range(16):
        await store.append("s", [NewEvent("n", {"text": chance.randbytes(16_000).hex()}) for _ in range(100)])


def check_lines(lines: list[bytes]) -> list[Event]:
    """The events of lines, each checked against the one before with the published rule alone."""
    prev = GENESIS
    found: list[Event] = []
    for number, line in enumerate(lines, 1):
        event = decode_event(line)
        head = (event.event_id, event.type, event.parent_id, event.created_at)
        digest = event.erased or hashlib.sha256(event.payload).digest()
        prev = seal_digest(prev, number, *head, digest)
        assert (event.seq, event.hash) == (number, prev)
        if event.erased is None:
            assert prev == seal(found[-1].hash if found else GENESIS, number, *head, event.payload)
        found.append(event)
    return found


async def test_log_lines_check_out(store: Store) -> None:
    await varied(store)
    async with client_of(store) as client:
        for session_id in ("a", "b", "c", "long"):
            answer = await client.get(f"/api/sessions/{session_id}/log")
            assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
            lines = answer.content.split(b"\n")
            assert lines.pop() == b""
            events = check_lines(lines)
            head = (await client.get(f"/api/sessions/{session_id}")).json()["metadata"]
            assert (len(events), events[-1].hash.hex()) == (head["headSeq"], head["headHash"])
            assert events == await store.read(session_id)
        part = (await client.get("/api/sessions/long/log?after=500&limit=300")).content.splitlines()
        assert [json.loads(line)["seq"] for line in part] == list(range(501, 801))
        assert (await client.get("/api/sessions/long/log?after=5000")).content == b""
        for query in ("after=-1", "limit=0", "after=x"):
            assert (await client.get(f"/api/sessions/long/log?{query}")).status_code == 400


async def test_an_export_has_the_lines_of_the_logs(store: Store) -> None:
    await varied(store)
    async with client_of(store) as client:
        answer = await client.get("/api/export?session=b&session=long")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert archive.testzip() is None
            members = [name for name in archive.namelist() if name.startswith("sessions/")]
            for member, session_id in zip(members, ("b", "long"), strict=True):
                _header, _, lines = archive.read(member).partition(b"\n")
                assert lines == (await client.get(f"/api/sessions/{session_id}/log")).content


async def test_what_goes_out_comes_in_with_the_same_bytes(store: Store, tmp_path: Path) -> None:
    await varied(store)
    async with (
        client_of(store) as one,
        await open_store(f"sqlite:///{tmp_path}/other.db") as second,
        client_of(second) as other,
    ):
        archive = (await one.get("/api/export")).content
        done = await other.post("/api/import", content=archive)
        assert done.status_code == 200, done.text
        assert done.json() == {
            "sessions": ["a", "b", "c", "long"],
            "thereBefore": [],
            "events": sum([(await store.sessions.get(name)).head_seq for name in ("a", "b", "c", "long")]),
            "attachments": 1,
            "memories": 1,
            "keysTaken": [],
        }
        assert (await other.get("/api/export")).content == archive
        assert (await other.get("/api/keys/agent:main:b")).json()["sessionId"] == "c"
        lines = [json.loads(line) for line in (await other.post("/api/verify")).text.splitlines()]
        assert lines[-1] == {"done": True, "verified": 4, "bad": 0}
        again = (await other.post("/api/import", content=archive)).json()
        assert (again["sessions"], again["thereBefore"]) == ([], ["a", "b", "c", "long"])
        await second.append("b", [NewEvent("own", {})])
        await store.append("b", [NewEvent("other", {})])
        clash = await other.post("/api/import", content=(await one.get("/api/export")).content)
        assert (clash.status_code, clash.json()["code"]) == (409, "conflict")
        assert clash.json()["sessions"] == ["b"]


async def test_what_cannot_be_exported_is_a_problem_and_no_archive(store: Store) -> None:
    await store.append("s", [NewEvent("x", {})])
    await store.append("gone", [NewEvent("x", {})])
    await store.deletion.delete("gone")
    async with client_of(store) as client:
        for query, status in (("session=none", 404), ("session=s&session=gone", 410), ("session=a%20b", 400)):
            answer = await client.get(f"/api/export?{query}")
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        empty = await client.get("/api/export?session=")
        assert empty.status_code == 400


async def test_an_error_in_the_middle_breaks_the_connection(store: Store, store_url: str) -> None:
    """Neither an archive nor a log may end as if it were whole."""
    text = "".join(chr(33 + n * 7 % 90) for n in range(2_000))
    await store.append("s", [NewEvent("n", {"n": n, "text": text + str(n * n)}) for n in range(2_000)])
    damage(store_url, "UPDATE transcript_events SET payload = {blob} WHERE seq = 1990")
    async with client_of(store) as client:
        for path in ("/api/sessions/s/log", "/api/export", "/api/export?session=s"):
            taken = 0
            with pytest.raises(httpx2.RemoteProtocolError):
                async with client.stream("GET", path) as answer:
                    assert answer.status_code == 200
                    async for part in answer.aiter_bytes():
                        taken += len(part)
            assert taken > 0
        early = await client.get("/api/sessions/s/log?after=1985")
        assert (early.status_code, early.json()["code"]) == (500, "corrupt")
        assert (await client.get("/api/sessions/s/log?limit=1989")).content.count(b"\n") == 1_989
    await eventually(lambda: not exporting())


async def test_an_export_that_nobody_takes_waits_and_one_that_is_left_stops(store: Store) -> None:
    await fill_with_noise(store)
    async with client_of(store) as client:
        async with client.stream("GET", "/api/export") as answer:
            parts = answer.aiter_bytes()
            assert (await anext(parts)).startswith(b"PK")
            assert (await client.post("/api/actions/other", json={"type": "x"})).status_code == 201
            assert (await client.get("/health")).status_code == 200
            assert exporting()
        await eventually(lambda: not exporting())
        assert (await client.get("/health")).status_code == 200


async def test_a_pipe_holds_only_so_much() -> None:
    pipe = Pipe(most_held=1_000)
    written: list[int] = []

    def write() -> None:
        with contextlib.suppress(Exception):
            for number in range(100):
                pipe.write(bytes(100))
                written.append(number)
        pipe.end()

    writer = threading.Thread(target=write)
    writer.start()
    await eventually(lambda: len(written) == 10)
    reader = pipe.read()
    taken = len(await anext(reader))
    async for part in reader:
        taken += len(part)
        assert len(part) <= 1_000
    assert (taken, len(written)) == (10_000, 100)
    writer.join()


async def test_a_pipe_that_is_left_tells_its_writer() -> None:
    pipe = Pipe(most_held=10)
    told: list[BaseException] = []

    def write() -> None:
        try:
            while True:
                pipe.write(bytes(10))
        except Exception as error:
            told.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    await anext(pipe.read())
    pipe.leave()
    writer.join(PATIENCE)
    assert [type(error).__name__ for error in told] == ["Closing"]


async def test_what_is_no_archive_is_refused(store: Store) -> None:
    await varied(store)
    async with client_of(store) as client:
        archive = (await client.get("/api/export")).content
        before = (await client.get("/api/status")).json()["sessions"]
        for body in (b"", b"PK", b"{}", archive[:-1], archive[:200] + b"\0" + archive[201:]):
            refused = await client.post("/api/import", content=body)
            assert (refused.status_code, refused.json()["code"]) == (400, "bad_archive"), body[:20]
        assert (await client.get("/api/status")).json()["sessions"] == before


async def test_an_upload_is_limited_and_leaves_no_file(sqlite_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    seen: list[list[str]] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            seen.append([path.name for path in folder.iterdir()])
            yield b"x" * 300_000

    async with await open_store(sqlite_url) as store, served(store) as here:
        here.gateway.data = folder
        app = create_app(store, gateway=here.gateway, limits=ConnectionLimits(max_archive=5_000_000))
        transport = httpx2.ASGITransport(app)
        async with Client(transport=transport, base_url="http://localhost", trust_env=False) as client:
            answer = await client.post("/api/import", content=endless())
            assert (answer.status_code, answer.json()["limit"]) == (413, 5_000_000)
            assert len(seen) < 20
            said = await client.post("/api/import", content=b"x" * 5_000_001)
            assert said.status_code == 413
            assert (await client.post("/api/import", content=b"x" * 4_999_999)).status_code == 400
    assert all(names == [] for names in seen)
    assert list(folder.iterdir()) == []


async def test_a_folder_that_cannot_be_written_is_said(store: Store, tmp_path: Path) -> None:
    async with served(store) as here:
        here.gateway.data = tmp_path / "is" / "not" / "there"
        async with Client(base_url=f"http://127.0.0.1:{here.port}", trust_env=False) as client:
            answer = await client.post("/api/import", content=b"x")
            assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")


async def big_archive(path: Path, events: int) -> bytes:
    """An archive with one small session and a large one after it."""
    async with await open_store(f"sqlite:///{path}") as store:
        await store.append("a-small", [NewEvent("n", {})])
        for start in range(0, events, 5_000):
            await store.append("large", [NewEvent("n", {"n": n}) for n in range(start, start + 5_000)])
        async with client_of(store) as client:
            return (await client.get("/api/export")).content


@pytest.mark.long
async def test_sigterm_in_the_middle_of_an_import_leaves_whole_sessions_only(store_url: str, tmp_path: Path) -> None:
    archive = await big_archive(tmp_path / "source.db", 60_000)
    data = tmp_path / "data"
    with running(data, "--store", store_url) as gateway:
        async with Client(base_url=gateway.url, trust_env=False, timeout=PATIENCE) as client:
            importing = asyncio.create_task(client.post("/api/import", content=archive))

            async def arriving() -> bool:
                return (await client.get("/api/sessions/large")).status_code == 409

            await eventually(arriving, pause=0.05)
            assert [path.name for path in data.iterdir() if path.suffix not in {".lock", ""}] == []
            gateway.process.send_signal(signal.SIGTERM)
            refused = await importing
            assert (refused.status_code, refused.json()["code"]) == (503, "closing")
        _, err = gateway.process.communicate(timeout=PATIENCE)
        assert (gateway.process.returncode, err) == (0, "")
    with running(data, "--store", store_url) as gateway:
        async with Client(base_url=gateway.url, trust_env=False, timeout=PATIENCE) as client:
            assert (await client.get("/api/sessions/a-small")).status_code == 200

            async def undone() -> bool:
                return (await client.get("/api/sessions/large")).status_code == 404

            await eventually(undone, pause=0.05)
            lines = (await client.post("/api/verify")).text.splitlines()
            assert [json.loads(lines[0]), json.loads(lines[-1])] == [
                {"files": []},
                {"done": True, "verified": 1, "bad": 0},
            ]
            done = (await client.post("/api/import", content=archive)).json()
            assert (done["sessions"], done["thereBefore"]) == (["large"], ["a-small"])
            assert (await client.get("/api/export")).content == archive
        assert gateway.stop() == (0, "")
    found = {path.name for path in data.iterdir()}
    assert found - {"holdfast.lock"} == {"logs", "workspace"}


async def test_sigterm_in_the_middle_of_an_export_breaks_it_off(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    async with await open_store(f"sqlite:///{data}/holdfast.db") as store:
        await fill_with_noise(store)
    with running(data) as gateway:
        async with (
            Client(base_url=gateway.url, trust_env=False, timeout=PATIENCE) as client,
            client.stream("GET", "/api/export") as answer,
        ):
            parts = aiter(answer.aiter_bytes())
            await anext(parts)
            gateway.process.send_signal(signal.SIGTERM)
            with pytest.raises(httpx2.RemoteProtocolError):
                async for _ in parts:
                    pass
        _, err = gateway.process.communicate(timeout=PATIENCE)
        assert gateway.process.returncode == 0
        assert "GET /api/export was broken off: the gateway is stopping" in err
        assert "Traceback" not in err
