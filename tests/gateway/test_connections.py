"""As many connections as there is room for, each heard as long as it keeps to its part."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.gateway.process import PATIENCE, Running, running
from tests.gateway.raw import HOST, Raw, get, raw, refused
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from holdfast.gateway.connections.guard import crowding
from holdfast.gateway.connections.limits import ConnectionLimits

ROOM = 40
UPGRADE = (
    HOST
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def holding(url: str, stack: ExitStack) -> Raw:
    """A connection that was served once, and is kept; asked for until there is room."""
    while True:
        made = stack.enter_context(raw(url, get()))
        if made.answer().status == 200:
            return made
        made.socket.close()


@contextmanager
def feed(gateway: Running) -> Iterator[ClientConnection]:
    with connect(gateway.live, proxy=None, open_timeout=PATIENCE, ping_interval=None) as live:
        assert json.loads(live.recv(timeout=PATIENCE))["type"] == "connected"
        yield live


def closed(live: ClientConnection) -> int:
    """The code with which the gateway ends the feed."""
    with pytest.raises(ConnectionClosed) as ended:
        while True:
            live.recv(timeout=PATIENCE)
    assert ended.value.rcvd is not None
    return ended.value.rcvd.code


def test_one_connection_too_many_is_told_so_and_there_is_room_again(tight_gateway: Running) -> None:
    with ExitStack() as stack:
        held = [holding(tight_gateway.url, stack) for _ in range(ROOM - 1)]
        live = stack.enter_context(feed(tight_gateway))
        with raw(tight_gateway.url, get()) as refused_one:
            (answer,) = refused_one.rest()
            assert refused(answer) == (503, "too_many_connections")
            assert answer.headers[b"retry-after"] == b"1"
        with raw(tight_gateway.url, get("/ws", UPGRADE)) as refused_feed:
            assert [refused(each) for each in refused_feed.rest()] == [(503, "too_many_connections")]
        for each in held:
            each.send(get())
            assert each.answer().status == 200
        live.close()
        holding(tight_gateway.url, stack)


def test_of_very_many_most_are_closed_unheard(tight_gateway: Running) -> None:
    with ExitStack() as stack:
        many = [stack.enter_context(raw(tight_gateway.url, get())) for _ in range(ROOM + 120)]
        found = [each.answer_if_any() for each in many]
        said = [answer.status for answer in found if answer is not None]
        assert set(said) <= {200, 503}
        assert said.count(200) <= ROOM
        assert len(said) < len(many)
        for each in many:
            each.socket.close()
        holding(tight_gateway.url, stack)


@dataclass
class Somebody:
    """A connection from this address."""

    client: tuple[str, int] | None


def test_one_address_gets_half_of_the_connections_unless_it_is_this_machine() -> None:
    limits = ConnectionLimits(max_connections=6)

    def room_for(address: str, *others: str) -> bool:
        everybody = [Somebody((each, 1)) for each in (address, *others)]
        return crowding(limits, (address, 1), everybody) is None

    assert room_for("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.2")
    assert not room_for("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1")
    assert not room_for("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4")
    assert room_for("2001:db8::1", "2001:db8:1::2", "2001:db8:1::3", "2001:db8:1::4")
    assert room_for("127.0.0.1", *["127.0.0.1"] * 5)
    assert not room_for("127.0.0.1", *["127.0.0.1"] * 6)
    assert crowding(limits, None, [Somebody(None)] * 6) is None


def test_a_flood_of_frames_ends_the_feed(tight_gateway: Running) -> None:
    for opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.PING, Opcode.PONG):
        with feed(tight_gateway) as live:
            live.socket.sendall(Frame(opcode, b"x").serialize(mask=True) * 2_000)
            assert closed(live) == 1008


def test_a_message_in_endless_pieces_ends_the_feed(tight_gateway: Running) -> None:
    with feed(tight_gateway) as live:
        piece = Frame(Opcode.CONT, b"", fin=False).serialize(mask=True)
        live.socket.sendall(Frame(Opcode.TEXT, b"", fin=False).serialize(mask=True) + piece * 2_000)
        assert closed(live) == 1008


def test_a_frame_that_is_too_large_ends_the_feed(tight_gateway: Running) -> None:
    with feed(tight_gateway) as live:
        live.socket.sendall(Frame(Opcode.TEXT, b"x" * (64 * 1024 + 1)).serialize(mask=True))
        assert closed(live) == 1009
    with feed(tight_gateway) as live:
        half = Frame(Opcode.TEXT, b"x" * 40_000, fin=False).serialize(mask=True)
        live.socket.sendall(half + Frame(Opcode.CONT, b"x" * 40_000).serialize(mask=True))
        assert closed(live) == 1009


def test_noise_ends_the_feed(tight_gateway: Running) -> None:
    for noise in (b"\xff" * 100, Frame(Opcode.TEXT, b"\xff\xfe").serialize(mask=True), b"\x81\x01x"):
        with feed(tight_gateway) as live:
            live.socket.sendall(noise)
            assert closed(live) in {1002, 1007}


def test_a_client_may_say_a_little(tight_gateway: Running) -> None:
    with feed(tight_gateway) as live:
        for _ in range(50):
            live.send("hello")
        assert live.ping().wait(PATIENCE)


HANDSHAKES = {
    "no key": UPGRADE.replace(b"Sec-WebSocket-Key", b"X-Key"),
    "a short key": UPGRADE.replace(b"dGhlIHNhbXBsZSBub25jZQ==", b"eA=="),
    "another version": UPGRADE.replace(b"Version: 13", b"Version: 12"),
    "two keys": UPGRADE + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    "a very long line": UPGRADE + b"X: " + b"y" * 10_000 + b"\r\n",
}


@pytest.mark.parametrize("name", HANDSHAKES)
def test_a_handshake_that_is_none_is_refused_like_any_request(tight_gateway: Running, name: str) -> None:
    with raw(tight_gateway.url, get("/ws", HANDSHAKES[name])) as sent:
        assert [refused(answer) for answer in sent.rest()] == [(400, "bad_request")]


def test_a_feed_that_is_not_served_is_not_found(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, get("/nowhere", UPGRADE)) as sent:
        assert [refused(answer) for answer in sent.rest()] == [(404, "no_route")]


def test_the_options_reach_the_gateway(tmp_path: Path) -> None:
    options = ("--max-connections", "2", "--rate-limit", "3", "--allow-origin", "https://app.example")
    with running(tmp_path, *options, "--max-state", "1KB") as gateway, ExitStack() as stack:
        first, _ = (stack.enter_context(raw(gateway.url, get())) for _ in range(2))
        assert first.answer().status == 200
        with raw(gateway.url, get()) as third:
            assert [refused(answer) for answer in third.rest()] == [(503, "too_many_connections")]
        first.send(get("/", HOST + b"Origin: https://app.example\r\n"))
        assert first.answer().headers[b"access-control-allow-origin"] == b"https://app.example"
        patch = b'{"text":"%b"}' % (b"x" * 1_000)
        first.send(b"PATCH /api/state/s HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(patch) + patch)
        assert refused(first.answer()) == (413, "too_large")
        for _ in range(10):
            first.send(get())
        while (limited := first.answer()).status == 200:
            pass
        assert refused(limited) == (429, "too_many_requests")


def test_a_gateway_takes_the_descriptors_that_its_connections_need() -> None:
    program = (
        "import logging, resource, sys; logging.basicConfig();"
        "from holdfast.gateway.connections.limits import make_room;"
        "soft, hard, connections = map(int, sys.argv[1:]);"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)); make_room(connections);"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    for soft, hard, found, warned in ((300, 4096, 1256, False), (300, 800, 800, True)):
        done = subprocess.run(
            [sys.executable, "-c", program, str(soft), str(hard), "1000"], capture_output=True, text=True, check=True
        )
        assert (int(done.stdout), "--max-connections 544" in done.stderr) == (found, warned)
