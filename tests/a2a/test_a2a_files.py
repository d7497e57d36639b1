"""Files that come with messages: kept by their bytes, never from outside the workspace, all of a message or nothing."""

import base64
import os
import socket
from pathlib import Path

import pytest

from holdfast.a2a.files.file_names import disk_name, display_name, media_type_of
from holdfast.a2a.files.files import MAX_FILE, Files
from holdfast.a2a.protocol.rpc import INVALID_PARAMS, RpcError
from holdfast.a2a.protocol.wire import DataPart, FilePart, Part, TextPart
from holdfast.store import Store

MB = 1024 * 1024


def inline(data: bytes, name: str | None = None, media_type: str | None = None) -> FilePart:
    return FilePart(base64.b64encode(data).decode(), None, name, media_type)


def at(url: str, name: str | None = None) -> FilePart:
    return FilePart(None, url, name)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with files in it, beside one that is none of its business."""
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "workspace-other").mkdir()
    (tmp_path / "workspace-other" / "x").write_bytes(b"another tenant's")
    folder = tmp_path / "workspace"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "notes.txt").write_bytes(b"a table for two")
    (folder / "deep" / "er" / "my plan.pdf").write_bytes(b"%PDF-1.7")
    (folder / "100%25 sure.md").write_bytes(b"# sure")
    (folder / "out").symlink_to("../secret.txt")
    (folder / "up").symlink_to("..")
    (folder / "here").symlink_to("notes.txt")
    os.mkfifo(folder / "fifo")
    return folder


@pytest.fixture
def files(store: Store, workspace: Path) -> Files:
    return Files(store, workspace)


async def read(files: Files, part: Part) -> bytes:
    (attachment,) = files.attachments([part])
    return await attachment.read()


async def refused(files: Files, *parts: Part) -> str:
    """Why the parts were not taken; nothing was kept."""
    with pytest.raises(RpcError) as caught:
        await files.take(parts)
    assert caught.value.code == INVALID_PARAMS
    assert await kept(files) == 0
    return caught.value.message


async def kept(files: Files) -> int:
    row = await files._store.attachments.workers.read(lambda tx: tx.one("SELECT count(*) FROM attachments"))
    assert row is not None
    return int(row[0])


async def test_inline_bytes_are_kept_and_shown_again(files: Files) -> None:
    sent = (TextPart("look"), inline(b"\x89PNG", "a.png", "image/png"), DataPart({"n": 1}), inline(b""))
    text, picture, data, empty = await files.take(sent)
    assert (text, data) == (sent[0], sent[2])
    assert isinstance(picture, FilePart)
    assert isinstance(empty, FilePart)
    assert (picture.raw, picture.size, picture.filename, picture.media_type) == (None, 4, "a.png", "image/png")
    assert (empty.size, empty.filename) == (0, "file")
    assert await read(files, picture) == b"\x89PNG"
    assert await read(files, empty) == b""
    shown = await files.show((text, picture, data, empty))
    assert [part.raw for part in shown if isinstance(part, FilePart)] == ["iVBORw==", ""]
    assert [found.name for found in files.attachments((text, picture, empty))] == ["a.png", "file"]


@pytest.mark.parametrize(
    ("url", "name", "data", "kind"),
    [
        ("workspace:/workspace/notes.txt", "notes.txt", b"a table for two", "text/plain"),
        ("WORKSPACE:/workspace/notes.txt", "notes.txt", b"a table for two", "text/plain"),
        ("file:///workspace/notes.txt", "notes.txt", b"a table for two", "text/plain"),
        ("file:/workspace/notes.txt", "notes.txt", b"a table for two", "text/plain"),
        ("/workspace/notes.txt", "notes.txt", b"a table for two", "text/plain"),
        ("notes.txt", "notes.txt", b"a table for two", "text/plain"),
        ("./deep//er/my plan.pdf", "my plan.pdf", b"%PDF-1.7", "application/pdf"),
        ("file:///workspace/deep/er/my%20plan.pdf", "my plan.pdf", b"%PDF-1.7", "application/pdf"),
        ("workspace:/workspace/100%2525%20sure.md", "100%25 sure.md", b"# sure", "text/markdown"),
        ("100%25 sure.md", "100%25 sure.md", b"# sure", "text/markdown"),
    ],
)
async def test_a_file_of_the_workspace_is_taken_as_it_is_now(
    files: Files, workspace: Path, url: str, name: str, data: bytes, kind: str
) -> None:
    (part,) = await files.take([at(url)])
    assert isinstance(part, FilePart)
    assert (part.url, part.raw, part.filename, part.media_type, part.size) == (url, None, name, kind, len(data))
    for path in workspace.rglob("*.*"):
        path.unlink()
    assert await read(files, part) == data
    assert await files.show([part]) == (part,), "a file that came by reference is shown by reference"


async def test_a_web_address_is_left_alone(files: Files) -> None:
    sent = (at("https://example.com/a.png", "../a"), at("HTTP://127.0.0.1/x"), TextPart("x"))
    assert await files.take(sent) == sent
    assert files.attachments(sent) == ()
    assert await kept(files) == 0


OUTSIDE = [
    "/etc/passwd",
    "/etc/notes.txt",
    "/notes.txt",
    "file:///etc/notes.txt",
    "workspace:/notes.txt",
    "file:///etc/passwd",
    "workspace:/etc/passwd",
    "workspace:/workspace/../secret.txt",
    "workspace:/workspace/deep/../notes.txt",
    "file:///workspace/%2e%2e/secret.txt",
    "file:///workspace/%2E./secret.txt",
    "file:///workspace/..%2fsecret.txt",
    "file:///workspace/deep%2fer%2fmy%20plan.pdf",
    "file:///workspace/%2e%2e%5csecret.txt",
    "file:///workspace/notes.txt%00.png",
    "file:///workspace/notes.txt%0",
    "file:///workspace/%ff",
    "file:///workspace/notes.txt?x",
    "file:///workspace/notes.txt#x",
    "../secret.txt",
    "deep/../../secret.txt",
    "/workspace/../secret.txt",
    "/workspace-other/x",
    "workspace:/workspace-other/x",
    "../workspace-other/x",
    "notes.txt\0",
    "\ud800",
    "",
    ".",
    "/",
    "/workspace",
    "/workspace/",
    "workspace:/workspace",
    "workspace:notes.txt",
    "workspace://workspace/notes.txt",
    "file://workspace/notes.txt",
    "file://localhost/workspace/notes.txt",
    "file:////workspace/notes.txt",
    "file:notes.txt",
    "ftp://example.com/x",
    "data:text/plain,hello",
    "C:\\secret.txt",
    "out",
    "up/secret.txt",
    "up/workspace/notes.txt",
    "here",
    "fifo",
    "socket",
    "deep",
    "notes.txt/x",
    "absent.txt",
    "absent/notes.txt",
    "n" * 300,
    "d/" * 3000 + "x",
]


async def test_nothing_outside_the_workspace_is_a_file(
    files: Files, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for url in OUTSIDE:
            assert "parts[1]" in await refused(files, inline(b"good"), at(url)), url


async def test_a_device_is_no_file(store: Store) -> None:
    assert "is not a file" in await refused(Files(store, Path("/dev")), at("null"))


async def test_a_folder_that_becomes_a_link_leads_nowhere(files: Files, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "er").mkdir(parents=True)
    (tmp_path / "outside" / "er" / "my plan.pdf").write_bytes(b"secret")
    (workspace / "deep").rename(workspace / "was")
    (workspace / "deep").symlink_to(tmp_path / "outside")
    await refused(files, at("deep/er/my plan.pdf"))


@pytest.mark.parametrize("raw", ["!", "YWI", "YWI=YWI=", " YWI=", "YWI=\n", "YWJj====", "=", "YWJ\u00e9", "_-__"])
async def test_what_is_not_base64_is_refused(files: Files, raw: str) -> None:
    assert "base64" in await refused(files, FilePart(raw))


async def test_a_digest_from_outside_says_nothing(files: Files) -> None:
    (taken,) = await files.take([inline(b"somebody's")])
    assert isinstance(taken, FilePart)
    with pytest.raises(RpcError):
        await files.take([FilePart(digest=taken.digest, size=taken.size)])
    (own,) = await files.take([FilePart("YWJj", digest=taken.digest)])
    assert isinstance(own, FilePart)
    assert own.digest != taken.digest


async def test_a_media_type_that_is_none_is_refused(files: Files) -> None:
    assert "media type" in await refused(files, inline(b"x", "x", "image/png\r\nx: y"))


async def test_too_much_is_refused(files: Files, workspace: Path) -> None:
    for name, size in (("most", MAX_FILE), ("more", MAX_FILE + 1)):
        with (workspace / name).open("wb") as file:
            file.truncate(size)
    assert "25 MiB" in await refused(files, at("notes.txt"), at("more"))
    assert "50 MiB" in await refused(files, at("most"), at("most"), at("notes.txt"))
    assert "25 MiB" in await refused(files, FilePart("A" * (MAX_FILE // 3 * 4 + 8)))
    (part,) = await files.take([at("most")])
    assert isinstance(part, FilePart)
    assert part.size == MAX_FILE


async def test_attached_files_are_kept_with_the_session_once(files: Files, store: Store) -> None:
    parts = await files.take([TextPart("x"), inline(b"one", "a.txt"), inline(b"one", "b.txt"), at("notes.txt")])
    await files.attach("s", parts, "delivery")
    await files.attach("s", parts, "delivery")
    names = [event.value()["name"] for event in await store.read("s", types=["holdfast.attachment_added"])]
    assert names == ["a.txt", "b.txt", "notes.txt"]
    await store.attachments.sweep(0)
    assert await read(files, parts[1]) == b"one"
    changed = await files.take([TextPart("x"), inline(b"two", "a.txt")])
    await files.attach("s", changed, "delivery")
    assert len(await store.attachments.of_session("s")) == 3


@pytest.mark.parametrize(
    ("name", "shown", "disk"),
    [
        ("notes.txt", "notes.txt", "notes.txt"),
        ("my plan (2).pdf", "my plan (2).pdf", "my_plan_(2).pdf"),
        ("../../etc/passwd", "passwd", "passwd"),
        ("C:\\temp\\x.doc", "x.doc", "x.doc"),
        ("/", "file", "file"),
        ("..", "file", "file"),
        (" . ", "file", "file"),
        ("a/.bashrc", ".bashrc", "bashrc"),
        ("a\r\nb\0\x1b[31m.txt", "ab[31m.txt", "ab_31m.txt"),
        ("gpj.\u202etxt", "gpj.txt", "gpj.txt"),
        ("50%?#&.txt", "50%?#&.txt", "50_.txt"),
        ("Übersicht.txt", "Übersicht.txt", "Übersicht.txt"),
        ("U\u0308.txt", "Ü.txt", "Ü.txt"),
        ("ü" * 300 + ".txt", "ü" * 98 + ".txt", "ü" * 98 + ".txt"),
        (None, "file", "file"),
        ("\ud800", "file", "file"),
    ],
)
def test_names_are_made_safe(name: str | None, shown: str, disk: str) -> None:
    assert (display_name(name), disk_name(name)) == (shown, disk)


def test_media_types_are_guessed_from_names() -> None:
    assert [media_type_of(name) for name in ("a.png", "a.tar.gz", "a", "a.unheard-of")] == [
        "image/png",
        "application/gzip",
        "application/octet-stream",
        "application/octet-stream",
    ]
    assert display_name(None, "image/png") == "file.png"
