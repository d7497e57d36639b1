"""Only requests that are meant for the gateway reach it: no other host's name, no other site's page.

The names are those of DNS rebinding and of cross-site WebSockets: what looks like a loopback name to one parser and
not to another.
"""

from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from starlette.responses import Response
from starlette.types import ASGIApp
from tests.gateway.process import Running
from tests.gateway.raw import get, raw, refused
from tests.gateway.test_connections import UPGRADE

from holdfast.core.errors import InvalidInput
from holdfast.core.loopback import is_loopback
from holdfast.gateway.app import create_app
from holdfast.http.hosts import HostCheck, parse_origin
from holdfast.store import Store

OURS = [
    "localhost",
    "localhost:9000",
    "LOCALHOST",
    "LocalHost:1",
    "app.localhost:9000",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.1.2.3",
    "[::1]",
    "[::1]:9000",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]:9000",
    "[::FFFF:7F00:1]",
    "agents.example",
    "AGENTS.example:80",
]
OTHERS = [
    "",
    "evil.example",
    "localhost.evil.example",
    "localhost.evil.com:9000",
    "evillocalhost",
    "localhost.",
    "localhost.:9000",
    ".localhost",
    "local host",
    "local\thost",
    "localhost ",
    "localhost,evil.example",
    "localhost, localhost",
    "localhost@evil.example",
    "localhost:9000@evil.example",
    "evil.example@localhost",
    "evil.example:80@localhost:9000",
    "localhost/evil.example",
    "localhost/",
    "localhost?",
    "localhost#.evil.example",
    "localhost\\.evil.example",
    "localhost%2eevil.example",
    "%6cocalhost",
    "localhost:",
    "localhost:x",
    "localhost:-1",
    "localhost:9000:9000",
    "localhost:999999",
    "localhost;evil.example",
    "http://localhost",
    "//localhost",
    "127.0.0.1.nip.io",
    "127.0.0.1.evil.example:9000",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "0177.0.0.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "127.0.0.01",
    "127.0.0.1%00.evil.example",
    "0.0.0.0",
    "0",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.0.1:9000",
    "[::2]",
    "[::]",
    "[",
    "[]",
    "[::1",
    "::1",
    "::1:9000",
    "[::1]evil.example",
    "[::1].evil.example",
    "[::1%25lo]",
    "[::1%lo]",
    "[127.0.0.1.evil]",
    "[::ffff:10.0.0.1]",
    "xn--lcalhost-65a",
    "xn--lcalhost-65a.localhost.evil.example",
    "agents.example.evil.example",
    "evil-agents.example",
    "agents.example.",
]
NO_ASCII = ["lоcalhost", "ⓛocalhost", "127。0。0。1", "localhost\u00ad"]


NAMES = ["agents.example"]
ORIGINS = ["https://app.example", "http://App.example:3000"]


def client_of(app: ASGIApp) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost", trust_env=False)


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    """The check alone, in front of something that serves everybody."""
    check = HostCheck(Response("served"), hosts=NAMES, origins=map(parse_origin, ORIGINS))
    async with client_of(check) as made:
        yield made


@pytest.fixture
async def whole(store: Store) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(create_app(store, hosts=NAMES, origins=ORIGINS)) as made:
        yield made


@pytest.mark.parametrize("host", OURS)
async def test_our_names_are_served(client: httpx2.AsyncClient, host: str) -> None:
    assert (await client.get("/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", [*OTHERS, *NO_ASCII])
async def test_other_names_are_misdirected(client: httpx2.AsyncClient, host: str) -> None:
    answer = await client.get("/health", headers={b"Host": host.encode()})
    assert (answer.status_code, answer.json()["code"]) == (421, "wrong_host")


async def test_one_name_must_be_given(client: httpx2.AsyncClient) -> None:
    for hosts in (["localhost", "localhost"], ["localhost", "evil.example"], ["evil.example", "localhost"]):
        answer = await client.get("/health", headers=[("Host", host) for host in hosts])
        assert (answer.status_code, answer.json()["code"]) == (421, "wrong_host")


async def test_an_address_for_all_addresses_is_reached_by_any_of_them_and_by_no_name() -> None:
    async with client_of(HostCheck(Response("served"), hosts=["0.0.0.0"])) as open_to_all:
        for host, status in (("192.168.0.1:9000", 200), ("[2001:db8::1]", 200), ("0.0.0.0", 200), ("x.example", 421)):
            assert (await open_to_all.get("/health", headers={"Host": host})).status_code == status


PAGES = [
    ("localhost:9000", "http://localhost:9000"),
    ("LOCALHOST:9000", "http://LocalHost:9000"),
    ("127.0.0.1:9000", "http://127.0.0.1:9000"),
    ("[::1]:9000", "http://[::1]:9000"),
    ("localhost", "http://localhost"),
    ("localhost:80", "http://localhost"),
    ("localhost", "http://localhost:80"),
    ("agents.example", "https://agents.example"),
    ("agents.example:443", "https://agents.example"),
    ("agents.example", "https://agents.example:443"),
    ("localhost:9000", "https://app.example"),
    ("localhost:9000", "http://app.example:3000"),
]
FOREIGN = [
    "https://evil.example",
    "http://localhost.evil.example:9000",
    "http://evil.example:9000",
    "http://localhost:3000",
    "http://localhost",
    "https://localhost",
    "http://127.0.0.1:9000",
    "http://[::1]:9000",
    "http://app.localhost:9000",
    "https://app.example:3000",
    "http://app.example",
    "https://app.example.evil.example",
    "https://app.example/",
    "null",
    "",
    "file://",
    "file:///home/ada/page.html",
    "chrome-extension://abcdefgh",
    "moz-extension://localhost:9000",
    "ws://localhost:9000",
    "data:text/html,x",
    "localhost:9000",
    "//localhost:9000",
    "http:localhost:9000",
    "http://localhost:9000/",
    "http://localhost:9000/path",
    "http://localhost:9000@evil.example",
    "http://evil.example@localhost:9000",
    "http://localhost:9000.evil.example",
    "http://localhost.:9000",
    "http://localhost:9000 http://evil.example",
    "http://localhost:9000, http://evil.example",
    "http://localhost:09000x",
    "http://",
    "http://[::1",
]


@pytest.mark.parametrize(("host", "origin"), PAGES)
async def test_our_pages_are_served(client: httpx2.AsyncClient, host: str, origin: str) -> None:
    assert (await client.get("/health", headers={"Host": host, "Origin": origin})).status_code == 200


@pytest.mark.parametrize("origin", FOREIGN)
async def test_other_sites_pages_are_refused(client: httpx2.AsyncClient, origin: str) -> None:
    """Also those of other programs on this machine: a port is a site of its own."""
    answer = await client.post(
        "/api/actions/s",
        content=b'{"type":"x"}',
        headers={"Host": "localhost:9000", "Origin": origin, "Content-Type": "text/plain"},
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


async def test_nothing_is_done_for_whoever_is_refused(whole: httpx2.AsyncClient) -> None:
    good = {"Host": "localhost:9000", "Content-Type": "text/plain"}
    for headers in [good | {"Origin": origin} for origin in FOREIGN] + [good | {"Host": host} for host in OTHERS]:
        answer = await whole.post("/api/actions/s", content=b'{"type":"x"}', headers=headers)
        assert answer.status_code in {403, 421}
    assert (await whole.get("/api/sessions")).json()["sessions"] == []
    assert (await whole.post("/api/actions/s", content=b'{"type":"x"}', headers=good)).status_code == 201


async def test_two_origins_are_none(client: httpx2.AsyncClient) -> None:
    headers = [("Host", "localhost"), ("Origin", "http://localhost"), ("Origin", "http://localhost")]
    assert (await client.get("/health", headers=headers)).status_code == 403


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("none", "navigate", 200),
        ("same-origin", "cors", 200),
        ("same-origin", "no-cors", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("same-site", "no-cors", 403),
        ("cross-site", "websocket", 403),
    ],
)
async def test_what_a_browser_says_of_a_page_without_an_origin_counts(
    client: httpx2.AsyncClient, site: str, mode: str, status: int
) -> None:
    """An image or a script of another site's page has no Origin; a link that somebody followed is their own doing."""
    answer = await client.get("/health", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode})
    assert answer.status_code == status


async def test_a_page_that_is_allowed_may_read_the_answers(whole: httpx2.AsyncClient) -> None:
    page = {"Origin": "https://app.example"}
    asked = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization,content-type"}
    before = await whole.options("/api/state/s", headers=page | asked)
    assert before.status_code == 204
    assert before.headers["access-control-allow-origin"] == "https://app.example"
    assert before.headers["access-control-allow-methods"] == "PATCH"
    assert before.headers["access-control-allow-headers"] == "authorization,content-type"
    answer = await whole.patch("/api/state/s", json={"a": 1}, headers=page)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://app.example")
    assert answer.headers["vary"] == "Origin"
    problem = await whole.get("/none", headers=page)
    assert (problem.status_code, problem.headers["access-control-allow-origin"]) == (404, "https://app.example")


async def test_no_other_may(client: httpx2.AsyncClient) -> None:
    for origin in ("http://localhost", "https://evil.example"):
        asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        for answer in (
            await client.options("/health", headers=asked),
            await client.get("/health", headers={"Origin": origin}),
        ):
            assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("origin", ["*", "null", "app.example", "https://app.example/", "https://é.example", "ftp://x"])
def test_only_a_site_can_be_allowed(origin: str) -> None:
    with pytest.raises(InvalidInput):
        parse_origin(origin)


@pytest.mark.parametrize(("host", "loopback"), [("::ffff:127.0.0.1", True), ("::ffff:10.0.0.1", False), ("::", False)])
def test_an_address_in_other_clothes_is_the_same(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def sendable(names: list[str]) -> Iterator[str]:
    """Those that a parser of HTTP lets through as they are."""
    return (name for name in names if name == name.strip())


def test_feeds_are_checked_as_well(tight_gateway: Running) -> None:
    """A browser lets any page open a WebSocket anywhere, and says only where the page is from."""
    port = tight_gateway.url.rsplit(":", 1)[1]
    rest = UPGRADE.partition(b"\r\n")[2]
    cases = [(host, "", 421, "wrong_host") for host in sendable(OTHERS)]
    cases += [
        (f"localhost:{port}", origin.replace("9000", port), 403, "foreign_origin") for origin in sendable(FOREIGN)
    ]
    for host, origin, status, code in cases:
        page = f"Origin: {origin}\r\n" if status == 403 else ""
        with raw(tight_gateway.url, get("/ws", f"Host: {host}\r\n{page}".encode() + rest)) as sent:
            answer = sent.answer()
        assert answer.status in {status, 400}, (host, origin, answer)
        assert refused(answer) in {(status, code), (400, "bad_request")}
    for page in ("", f"Origin: http://localhost:{port}\r\n"):
        with raw(tight_gateway.url, get("/ws", f"Host: localhost:{port}\r\n{page}".encode() + rest)) as sent:
            assert sent.answer().status == 101
