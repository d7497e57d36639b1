"""A client that begins a request and does not go on costs nobody else anything, and is told so after a while."""

import json
import socket
import time
from collections.abc import Iterator

import pytest
from tests.gateway.process import PATIENCE, Running
from tests.gateway.raw import HOST, get, post, raw, refused

ACTION = b'{"type":"x"}'
APPEND = b"POST /api/actions/s HTTP/1.1\r\n" + HOST + b"Content-Length: 12\r\n\r\n"


@pytest.fixture(autouse=True)
def it_serves_on(tight_gateway: Running) -> Iterator[None]:
    yield
    with raw(tight_gateway.url, get()) as other:
        assert other.answer().status == 200
    with raw(tight_gateway.url, get("/api/sessions/s")) as other:
        assert other.answer().status == 404


def test_a_head_that_trickles_in_is_refused(tight_gateway: Running) -> None:
    with raw(tight_gateway.url) as slow:
        for byte in get() * 10:
            if slow.says(bytes([byte])):
                break
        assert [refused(answer) for answer in slow.rest()] == [(408, "too_slow")]


def test_a_head_that_stops_is_refused(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, b"GET /health HTTP/1.1\r\n" + HOST) as slow:
        assert [refused(answer) for answer in slow.rest()] == [(408, "too_slow")]


def test_so_is_one_that_never_begins(tight_gateway: Running) -> None:
    with raw(tight_gateway.url) as slow:
        while not slow.says(b"\r\n"):
            pass
        (answer,) = slow.rest()
        assert refused(answer) in {(408, "too_slow"), (400, "bad_request")}


def test_a_connection_that_says_nothing_is_closed(tight_gateway: Running) -> None:
    with raw(tight_gateway.url) as silent:
        assert silent.rest() == []


def test_the_second_head_has_to_come_as_well(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, get()) as slow:
        assert slow.answer().status == 200
        slow.send(b"GET /hea")
        assert [refused(answer) for answer in slow.rest()] == [(408, "too_slow")]


def test_a_body_that_stops_is_refused_and_nothing_is_appended(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, APPEND + ACTION[:-1]) as slow:
        (answer,) = slow.rest()
        assert refused(answer) == (408, "too_slow")


def test_a_body_that_trickles_in_is_refused(tight_gateway: Running) -> None:
    with raw(
        tight_gateway.url, b"POST /api/actions/s HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n"
    ) as slow:
        while not slow.says(b"x"):
            pass
        assert [refused(answer) for answer in slow.rest()] == [(408, "too_slow")]


def test_so_is_one_in_chunks_that_hold_next_to_nothing(tight_gateway: Running) -> None:
    head = b"POST /api/actions/s HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    with raw(tight_gateway.url, head) as slow:
        while not slow.says(b"1;" + b"e" * 1000 + b"\r\nx\r\n"):
            pass
        assert [refused(answer) for answer in slow.rest()] == [(408, "too_slow")]


def test_a_slow_body_that_keeps_the_rate_is_taken(tight_gateway: Running) -> None:
    pieces = [b"{" + b" " * 2_000, *[b" " * 2_000] * 12, b'"type":"x"}']
    head = b"POST /api/actions/taken HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n" % (HOST, sum(map(len, pieces)))
    with raw(tight_gateway.url, head) as slow:
        assert not any(slow.says(piece) for piece in pieces[:-1])
        slow.send(pieces[-1])
        assert slow.answer().status == 201


def test_the_rest_of_a_body_that_nobody_wants_is_not_taken_for_ever(tight_gateway: Running) -> None:
    with raw(
        tight_gateway.url, b"POST /none HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000000000\r\n\r\n"
    ) as endless:
        assert refused(endless.answer())[0] in {404, 413}
        start = time.monotonic()
        while endless.send(b"x" * 65536):
            assert time.monotonic() < start + PATIENCE, "it is all taken"


def test_but_the_connection_goes_on_if_the_rest_comes(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, APPEND.replace(b"/api/actions/s", b"/none")) as late:
        assert refused(late.answer()) == (404, "no_route")
        late.send(ACTION + get())
        assert late.answer().status == 200


def test_a_client_that_hangs_up_in_the_middle_leaves_nothing(tight_gateway: Running) -> None:
    for piece in (b"", b"G", APPEND, APPEND + ACTION[:-1], b"\r\n"):
        with raw(tight_gateway.url, piece):
            pass


def test_a_client_that_says_no_more_has_gone(tight_gateway: Running) -> None:
    """One that shuts its side is not told apart from one that died: what it asked for may be done, unheard."""
    for piece in (b"", b"GET /he", APPEND, get(), post("/api/actions/half", ACTION)):
        with raw(tight_gateway.url, piece) as half:
            half.socket.shutdown(socket.SHUT_WR)
            assert [answer.status for answer in half.rest()] in ([], [200], [201])


def test_a_refusal_is_a_problem_like_any_other(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, b"GET") as slow:
        (answer,) = slow.rest()
    assert answer.headers[b"connection"] == b"close"
    assert json.loads(answer.body)["hint"]
