"""The dashboard's page: browsers get it at `/`, programs keep their JSON, and only files that were built are served."""

import gzip
import json
import re
import signal
from importlib.resources import files
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from tests.gateway.process import PATIENCE, running
from tests.support.processes import ended, first_line, holdfast
from tests.support.web import web_client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from holdfast.gateway.access.scopes import needed
from holdfast.gateway.api.dashboard import POLICY, dashboard_in, prefers_page

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "page"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("TEXT/HTML ; q=0.5", True),
        ("application/json;q=0.1, text/html", True),
        ("*/*", False),
        ("", False),
        ("text/*", False),
        ("application/json", False),
        ("application/json, text/html;q=0.9", False),
        ("text/html;q=0", False),
        ("text/html;q=nan", False),
        ("text/html-x", False),
    ],
)
async def test_who_asks_for_html_by_name_gets_the_page(client: httpx2.AsyncClient, accept: str, page: bool) -> None:
    assert prefers_page(accept) is page
    answer = await client.get("/", headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == ("text/html; charset=utf-8" if page else "application/json")
    assert "Accept" in answer.headers["vary"].split(", ")
    head = await client.head("/", headers={"Accept": accept})
    assert head.status_code == 200
    assert head.headers["content-type"] == answer.headers["content-type"]


async def test_the_page_may_load_what_lies_here_and_nothing_inline(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/", headers={"Accept": BROWSER})
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY and "*" not in POLICY and "http" not in POLICY
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-cache"
    assert not re.search(r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=|(src|href)=\"(https?:)?//", answer.text)
    named = re.findall(r'(?:src|href)="(/dashboard/[^"]+)"', answer.text)
    assert named
    for each in named:
        assert (await client.get(each)).status_code == 200


async def test_every_asset_of_the_package_is_served_and_nothing_else(client: httpx2.AsyncClient) -> None:
    folder = files("holdfast.gateway").joinpath("dashboard", "assets")
    names = [each.name for each in folder.iterdir()]
    assert names
    for name in names:
        answer = await client.get(f"/dashboard/assets/{name}")
        assert (answer.status_code, answer.content) == (200, folder.joinpath(name).read_bytes())
        assert answer.headers["x-content-type-options"] == "nosniff"
    for name in (
        "",
        ".",
        "..",
        "../index.html",
        "..%2findex.html",
        "..%2f..%2fapp.py",
        "%2fetc%2fpasswd",
        "a%00b",
        "x" * 2_000,
        f"{names[0]}/",
        f"{names[0]}%0a",
    ):
        answer = await client.get(httpx2.URL(f"http://localhost/dashboard/assets/{name}"))
        assert answer.status_code == 404, name
        assert answer.json()["code"] == "no_route"
    assert (await client.post(f"/dashboard/assets/{names[0]}")).status_code == 405


def folder_with(path: Path, **assets: bytes) -> Path:
    (path / "assets").mkdir()
    (path / "index.html").write_bytes(b"<!doctype html>")
    for name, content in assets.items():
        (path / "assets" / name).write_bytes(content)
    return path


def served(folder: Path) -> httpx2.AsyncClient:
    app = Starlette(routes=[Route("/{name}", dashboard_in(folder).asset)])
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost", trust_env=False)


async def test_assets_are_kept_by_their_names_or_asked_for_again(tmp_path: Path) -> None:
    names = {"index-B2Kd_9-x.js": True, "icon.svg": False, "long-word-settings.js": False, "a-DEADBEEF.css": True}
    folder = folder_with(tmp_path, **dict.fromkeys(names, b"x" * 5_000))
    (folder / "assets" / "secret.key").write_bytes(b"not of a kind that is served")
    (folder / "assets" / "more").mkdir()
    async with served(folder) as client:
        for name, forever in names.items():
            answer = await client.get(f"/{name}")
            assert answer.headers["cache-control"] == ("public, max-age=31536000, immutable" if forever else "no-cache")
            tag = answer.headers["etag"]
            assert (await client.get(f"/{name}", headers={"If-None-Match": tag})).status_code == 304
            assert (await client.get(f"/{name}", headers={"If-None-Match": f'"other", W/{tag}'})).status_code == 304
            changed = await client.get(f"/{name}", headers={"If-None-Match": '"other"'})
            assert (changed.status_code, changed.content) == (200, b"x" * 5_000)


async def test_assets_are_packed_for_who_takes_that(tmp_path: Path) -> None:
    text = b"const kite = 1;\n" * 1_000
    async with served(folder_with(tmp_path, **{"a.js": text, "small.js": b"1;"})) as client:
        plain = await client.get("/a.js", headers={"Accept-Encoding": "identity"})
        assert (plain.content, plain.headers.get("content-encoding")) == (text, None)
        async with client.stream("GET", "/a.js", headers={"Accept-Encoding": "br, gzip"}) as packed:
            raw = b"".join([each async for each in packed.aiter_raw()])
        assert gzip.decompress(raw) == text
        assert int(packed.headers["content-length"]) == len(raw) < len(text) / 10
        assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
        assert packed.headers["etag"] != plain.headers["etag"]
        none = await client.get("/a.js", headers={"Accept-Encoding": "gzip;q=0"})
        assert none.headers.get("content-encoding") is None
        small = await client.get("/small.js", headers={"Accept-Encoding": "gzip"})
        assert small.headers.get("content-encoding") is None


async def test_a_gateway_without_the_page_says_what_it_serves(tmp_path: Path) -> None:
    asked = Request({"type": "http", "headers": [(b"accept", BROWSER.encode())]})
    assert await dashboard_in(tmp_path).page(asked) is None


def test_the_page_is_open_and_its_data_are_not() -> None:
    assert needed("GET", "/") is None
    assert needed("HEAD", "/dashboard/assets/x.js") is None
    assert needed("POST", "/dashboard/assets/x.js") == "write"
    assert needed("GET", "/dashboard/assetsx") == "read"


def test_the_same_application_is_on_a_second_port(tmp_path: Path) -> None:
    with holdfast("serve", "--json", "--port", "0", "--dashboard-port", "0", "--data", str(tmp_path)) as process:
        said = json.loads(first_line(process))
        first, second = said["url"], said["dashboard"]
        assert first != second
        with web_client(base_url=second) as client:
            page = client.get("/", headers={"Accept": BROWSER})
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert client.post("/api/actions/s1", json={"type": "note"}).json()["seq"] == 1
            assert client.get(f"{first}/api/sessions/s1").status_code == 200
            status = client.get("/api/status").json()
            assert (status["address"], status["dashboard"]) == (first, second)
            # A page of one port is a stranger to the other, and both know their names.
            assert client.get("/api/sessions", headers={"Origin": second}).status_code == 200
            assert client.get("/api/sessions", headers={"Origin": first}).json()["code"] == "foreign_origin"
            assert client.get("/", headers={"Host": "evil.example"}).json()["code"] == "wrong_host"
        with connect(second.replace("http", "ws", 1) + "/ws?session=s1", proxy=None) as live:
            assert json.loads(live.recv())["type"] == "connected"
            process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    live.recv()
            assert closed.value.rcvd is not None
        process.communicate(timeout=PATIENCE)
        assert process.wait() == 0


def test_a_second_port_that_is_taken_is_said_by_name(tmp_path: Path) -> None:
    with running(tmp_path / "one") as gateway:
        port = gateway.url.rpartition(":")[2]
        asked = ended("serve", "--port", "0", "--dashboard-port", port, "--data", str(tmp_path / "two"))
        assert asked.returncode != 0
        assert "use another --dashboard-port" in asked.stderr
        assert not (tmp_path / "two").exists()
