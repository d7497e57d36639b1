"""Uploads: into the workspace, whole or not at all, never anywhere else."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from holdfast.a2a.files.files import MAX_FILE, Files
from holdfast.a2a.files.upload_intake import Intake
from holdfast.a2a.files.uploads import MAX_REQUEST, PATH, uploads_route
from holdfast.a2a.protocol.wire import FilePart
from holdfast.store import Store

BOUNDARY = "x-boundary"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def files(store: Store, workspace: Path) -> Files:
    return Files(store, workspace)


@pytest.fixture
async def client(files: Files) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(Starlette(routes=[uploads_route(lambda _: files)]))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as made:
        yield made


def part(name: str | None, data: bytes, field: str = "files", *more: str) -> bytes:
    named = "" if name is None else f'; filename="{name}"'
    head = "\r\n".join([f'Content-Disposition: form-data; name="{field}"{named}', *more])
    return f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


def there(workspace: Path) -> list[str]:
    """Every file in the workspace."""
    return sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*") if not path.is_dir())


def nothing_left(workspace: Path) -> bool:
    return there(workspace) == [] and list((workspace / ".uploads").glob("*")) == []


async def refused(client: httpx2.AsyncClient, workspace: Path, status: int, **request: Any) -> dict[str, Any]:
    answer = await client.post(PATH, **request)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    assert nothing_left(workspace)
    problem: dict[str, Any] = answer.json()
    return problem


async def test_uploaded_files_can_be_sent(client: httpx2.AsyncClient, files: Files, workspace: Path) -> None:
    big = os.urandom(3_000_000)
    answer = await client.post(
        PATH,
        data={"note": "a plain field"},
        files=[
            ("files", ("my plan.pdf", b"%PDF-1.7", "application/pdf")),
            ("files", ("Übersicht.md", big)),
            ("files", ("../../my plan.pdf", b"other", "not a media type")),
            ("files", ("empty", b"")),
        ],
    )
    assert answer.status_code == 200, answer.text
    described = answer.json()["files"]
    assert [set(file) for file in described] == [{"uri", "name", "mimeType", "size"}] * 4
    assert [(file["name"], file["mimeType"], file["size"]) for file in described] == [
        ("my_plan.pdf", "application/pdf", 8),
        ("Übersicht.md", "text/markdown", 3_000_000),
        ("3-my_plan.pdf", "application/pdf", 5),
        ("empty", "application/octet-stream", 0),
    ]
    taken = await files.take([FilePart(None, file["uri"]) for file in described])
    assert [await found.read() for found in files.attachments(taken)] == [b"%PDF-1.7", big, b"other", b""]
    for path in [workspace / "uploads", *(workspace / "uploads").rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert list((workspace / ".uploads").iterdir()) == []


async def test_too_large_a_file_leaves_nothing(client: httpx2.AsyncClient, workspace: Path) -> None:
    most = {"files": ("most", b"x" * MAX_FILE)}
    assert (await client.post(PATH, files=most)).json()["files"][0]["size"] == MAX_FILE
    for path in (workspace / "uploads").rglob("most"):
        path.unlink()
    body = part("good", b"good") + part("more", b"x" * (MAX_FILE + 1)) + END
    problem = await refused(client, workspace, 413, content=body, headers=FORM)
    assert (problem["code"], problem["limit"]) == ("too_large", MAX_FILE)


async def test_too_large_a_request_leaves_nothing(client: httpx2.AsyncClient, workspace: Path) -> None:
    three = b"".join(part(f"f{n}", b"x" * (MAX_FILE * 2 // 3 + 1)) for n in range(3)) + END
    assert (await refused(client, workspace, 413, content=three, headers=FORM))["code"] == "too_large"

    async def endless() -> AsyncIterator[bytes]:
        yield part(None, b"", "a plain field")[:-2]
        for _ in range(MAX_REQUEST // 1_000_000 + 1):
            yield b"x" * 1_000_000

    assert (await refused(client, workspace, 413, content=endless(), headers=FORM))["code"] == "too_large"
    many = b"".join(part("f", b"") for _ in range(101)) + END
    assert (await refused(client, workspace, 413, content=many, headers=FORM))["limit"] == 100


@pytest.mark.parametrize(
    "body",
    [
        b"",
        END,
        part("a", b"a"),
        part("a", b"a") + part("b", b"b")[:-10],
        part("a", b"a", "file") + END,
        part(None, b"a") + END,
        part("a", b"a") + part("b", b"b", "other") + END,
        f"--{BOUNDARY}\r\n\r\nno head\r\n".encode() + part("a", b"a") + b"--what",
        b"not a form",
        part("a", b"a", "files", "X: " + "y" * 100_000) + END,
    ],
)
async def test_what_is_no_form_with_files_leaves_nothing(
    client: httpx2.AsyncClient, workspace: Path, body: bytes
) -> None:
    assert (await refused(client, workspace, 400, content=body, headers=FORM))["code"] == "invalid_input"


@pytest.mark.parametrize(
    "kind", [None, "application/json", "multipart/form-data", f"multipart/form-data; boundary={'x' * 1000}"]
)
async def test_another_content_type_is_refused(client: httpx2.AsyncClient, workspace: Path, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    await refused(client, workspace, 400, content=part("a", b"a") + END, headers=headers)


@pytest.mark.parametrize("folder", ["uploads", ".uploads"])
async def test_a_link_in_the_workspace_leads_no_upload_out(
    client: httpx2.AsyncClient, workspace: Path, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "outside").mkdir()
    (workspace / folder).symlink_to(tmp_path / "outside")
    answer = await client.post(PATH, files={"files": ("a", b"a")})
    assert answer.status_code == 400
    assert list((tmp_path / "outside").iterdir()) == []


def half_an_upload(files: Files, begun: asyncio.Event) -> "asyncio.Task[None]":
    """A request whose second half never comes."""
    pieces = [{"type": "http.request", "body": part("a", b"x" * 600_000), "more_body": True}]

    async def receive() -> dict[str, Any]:
        if pieces:
            return pieces.pop()
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("it was to be cut off")

    async def send(_message: Any) -> None:
        raise AssertionError("there is nobody to answer")

    headers = [(b"content-type", FORM["Content-Type"].encode())]
    scope = {"type": "http", "method": "POST", "path": PATH, "headers": headers, "query_string": b"", "state": {}}

    async def ask() -> None:
        await uploads_route(lambda _: files).app(scope, receive, send)

    return asyncio.create_task(ask())


async def test_a_sender_that_goes_away_leaves_nothing(files: Files, workspace: Path) -> None:
    begun = asyncio.Event()
    request = half_an_upload(files, begun)
    await begun.wait()
    assert there(workspace) != [], "it is written as it comes"
    assert not (workspace / "uploads").exists()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert nothing_left(workspace)


async def test_one_that_goes_away_in_the_middle_of_a_write_leaves_nothing(
    files: Files, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, go_on = threading.Event(), threading.Event()
    write = Intake.write

    def slow(self: Intake, piece: bytes) -> None:
        writing.set()
        go_on.wait()
        write(self, piece)

    monkeypatch.setattr(Intake, "write", slow)
    request = half_an_upload(files, asyncio.Event())
    await asyncio.to_thread(writing.wait)
    request.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not request.done(), "it goes before the file is closed"
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert nothing_left(workspace)


async def test_what_a_killed_server_left_aside_goes(client: httpx2.AsyncClient, workspace: Path) -> None:
    for name, age in (("old", 90_000), ("new", 10)):
        (workspace / ".uploads" / name).mkdir(parents=True)
        (workspace / ".uploads" / name / "half").write_bytes(b"x")
        os.utime(workspace / ".uploads" / name, times=(time.time() - age,) * 2)
    assert (await client.post(PATH, files={"files": ("a", b"a")})).status_code == 200
    assert [path.name for path in (workspace / ".uploads").iterdir()] == ["new"]
