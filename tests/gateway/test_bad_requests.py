"""What is not plainly HTTP is refused before anything is done for it: too long a head, and every request that two
programs could read differently."""

from collections.abc import Iterator

import pytest
from tests.gateway.process import Running
from tests.gateway.raw import HOST, get, post, raw, refused

ACTION = b'{"type":"x"}'
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"c\r\n" + ACTION + b"\r\n0\r\n\r\n"
LENGTH = b"Content-Length: 12\r\n"


def append(headers: bytes, body: bytes = ACTION, line: bytes = b"POST /api/actions/s HTTP/1.1\r\n") -> bytes:
    return line + headers + b"\r\n" + body


SMUGGLED = {
    "two lengths": append(HOST + LENGTH + b"Content-Length: 13\r\n"),
    "a list of lengths": append(HOST + b"Content-Length: 12, 12\r\n"),
    "a length with a sign": append(HOST + b"Content-Length: +12\r\n"),
    "a length below nothing": append(HOST + b"Content-Length: -12\r\n"),
    "a length in hex": append(HOST + b"Content-Length: 0xc\r\n"),
    "a length with an underscore": append(HOST + b"Content-Length: 1_2\r\n"),
    "an empty length": append(HOST + b"Content-Length:\r\n"),
    "an endless length": append(HOST + b"Content-Length: " + b"9" * 5000 + b"\r\n"),
    "length, then chunks": append(HOST + LENGTH + CHUNKED, CHUNKS),
    "chunks, then length": append(HOST + CHUNKED + LENGTH, CHUNKS),
    "chunks twice": append(HOST + CHUNKED + CHUNKED, CHUNKS),
    "chunks that are not last": append(HOST + b"Transfer-Encoding: chunked, identity\r\n", CHUNKS),
    "chunks and more": append(HOST + b"Transfer-Encoding: gzip, chunked\r\n", CHUNKS),
    "almost chunks": append(HOST + b"Transfer-Encoding: xchunked\r\n", CHUNKS),
    "an empty encoding": append(HOST + b"Transfer-Encoding:\r\n", CHUNKS),
    "identity": append(HOST + b"Transfer-Encoding: identity\r\n", CHUNKS),
    "chunks behind a tab": append(HOST + b"Transfer-Encoding:\x0bchunked\r\n", CHUNKS),
    "a space before the colon": append(HOST + b"Transfer-Encoding : chunked\r\n", CHUNKS),
    "a space before the name": append(b" Transfer-Encoding: chunked\r\n" + HOST, CHUNKS),
    "a folded header": append(HOST + LENGTH + b"X: a\r\n Transfer-Encoding: chunked\r\n"),
    "a line that ends early": append(HOST + LENGTH + b"X: a\rTransfer-Encoding: chunked\r\n"),
    "a NUL": append(HOST + LENGTH + b"X: a\x00b\r\n"),
    "no name": append(HOST + LENGTH + b": x\r\n"),
    "no colon": append(HOST + LENGTH + b"x\r\n"),
    "chunks in HTTP/1.0": append(HOST + CHUNKED, CHUNKS, b"POST /api/actions/s HTTP/1.0\r\n"),
    "a chunk of no size": append(HOST + CHUNKED, b"\r\n" + ACTION + b"\r\n0\r\n\r\n"),
    "a chunk in 0x": append(HOST + CHUNKED, b"0xc\r\n" + ACTION + b"\r\n0\r\n\r\n"),
    "a chunk with a sign": append(HOST + CHUNKED, b"-c\r\n" + ACTION + b"\r\n0\r\n\r\n"),
    "a chunk of 2^120": append(HOST + CHUNKED, b"100000000000000000000000000000c\r\n" + ACTION + b"\r\n0\r\n\r\n"),
    "a chunk longer than it says": append(HOST + CHUNKED, b"2\r\n" + ACTION + b"\r\n0\r\n\r\n"),
    "HTTP/0.9": append(b"", b"", b"POST /api/actions/s\r\n"),
    "HTTP/2": append(HOST + LENGTH, ACTION, b"POST /api/actions/s HTTP/2.0\r\n"),
    "HTTP/1.2": append(HOST + LENGTH, ACTION, b"POST /api/actions/s HTTP/1.2\r\n"),
    "HTTP/2 by its preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("160301020001000001fc0303") + b"\x00" * 500,
    "nothing but noise": bytes(range(256)) * 8,
    "another host's URL": append(HOST + LENGTH, ACTION, b"POST http://evil.example/api/actions/s HTTP/1.1\r\n"),
    "a URL with a user": append(HOST + LENGTH, ACTION, b"POST http://evil@localhost/api/actions/s HTTP/1.1\r\n"),
    "a tunnel": append(HOST, b"", b"CONNECT localhost:9000 HTTP/1.1\r\n"),
    "a path that is none": append(HOST + LENGTH, ACTION, b"POST api/actions/s HTTP/1.1\r\n"),
    "a method that is none": append(HOST + LENGTH, ACTION, b"PO ST /api/actions/s HTTP/1.1\r\n"),
    "bare newlines": append(HOST + CHUNKED, CHUNKS).replace(b"\r\n", b"\n"),
}
READ_BY_H11 = {"a list of lengths", "a folded header"}
"""h11 takes a length that is said twice for one, and a folded line for a space: RFC 9112 lets it."""


@pytest.fixture(autouse=True)
def nothing_was_done(tight_gateway: Running) -> Iterator[None]:
    yield
    with raw(tight_gateway.url, get("/api/sessions/s")) as other:
        assert other.answer().status == 404


@pytest.mark.parametrize("name", SMUGGLED)
def test_what_can_be_read_in_two_ways_is_refused(
    tight_gateway: Running, name: str, request: pytest.FixtureRequest
) -> None:
    if name in READ_BY_H11 and request.node.callspec.params["tight_gateway"] == "h11":
        pytest.skip("h11 understands it, as it may")
    with raw(tight_gateway.url, SMUGGLED[name] + get("/api/sessions/smuggled")) as sent:
        (answer,) = sent.rest()
    assert refused(answer) == (400, "bad_request")


def test_a_head_that_is_too_long_is_refused_whole_or_not(tight_gateway: Running) -> None:
    long = b"X: " + b"a" * 33_000
    for head in (get(headers=HOST + long + b"\r\n"), get(headers=HOST + long)[:-4], get("/" + "a" * 33_000)):
        with raw(tight_gateway.url, head) as sent:
            assert [refused(answer) for answer in sent.rest()] == [(431, "head_too_large")]


def test_so_is_one_that_never_ends(tight_gateway: Running) -> None:
    for line in (b"a" * 65536, b"X: y\r\n" * 10_000):
        with raw(tight_gateway.url, b"GET /health HTTP/1.1\r\n" + HOST + b"X: ") as sent:
            while not sent.says(line):
                pass
            assert [refused(answer) for answer in sent.rest()] == [(431, "head_too_large")]


def test_whoever_goes_on_sending_is_told_all_the_same(tight_gateway: Running) -> None:
    for start in (b"garbage\r\n\r\n", get(headers=b"A: b\r\n" * 500), append(HOST + LENGTH + CHUNKED)):
        with raw(tight_gateway.url, start) as sent:
            assert sent.send(b"x" * 5_000_000)
            assert [refused(answer)[0] for answer in sent.rest()] in ([400], [431])


def test_so_is_one_of_very_many_lines(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, get(headers=HOST + b"A: b\r\n" * 1000)) as sent:
        assert [refused(answer) for answer in sent.rest()] == [(431, "head_too_large")]
    with raw(tight_gateway.url, get(headers=HOST + b"A: b\r\n" * 99)) as sent:
        assert sent.answer().status == 200


def test_headers_after_the_body_are_not_the_requests_own(tight_gateway: Running) -> None:
    sent_late = b"0\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nHoldfast-Tenant: x\r\n\r\n"
    with raw(
        tight_gateway.url, append(HOST + CHUNKED, b"c\r\n" + ACTION + b"\r\n" + sent_late).replace(b"/s ", b"/late ")
    ) as late:
        assert late.answer().status == 201
        late.send(get())
        assert late.answer().status == 200


def test_nor_can_there_be_any_number_of_them(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, append(HOST + CHUNKED, CHUNKS[:-2])) as endless:
        while not endless.says(b"X: y\r\n" * 10_000):
            pass
        (answer,) = endless.rest()
        assert refused(answer)[0] in {400, 431}


def test_a_good_request_before_a_bad_one_is_answered_and_no_other(tight_gateway: Running) -> None:
    for bad in (
        b"garbage\r\n\r\n",
        get(version=b"3.0"),
        append(HOST + LENGTH + CHUNKED),
        get(headers=b"")[:-2] + b" x\r\n",
    ):
        with raw(tight_gateway.url, get() + post("/api/actions/ok", ACTION) + bad) as sent:
            first, second, *more = sent.rest()
        assert (first.status, second.status) == (200, 201)
        assert [refused(answer) for answer in more] in ([], [(400, "bad_request")], [(408, "too_slow")])


def test_requests_are_answered_in_order_and_not_endlessly_many(
    tight_gateway: Running, request: pytest.FixtureRequest
) -> None:
    with raw(tight_gateway.url, get() + get("/none") + get()) as sent:
        assert [sent.answer().status for _ in range(3)] == [200, 404, 200]
    with raw(tight_gateway.url, get() * 200 + get(headers=HOST + b"Connection: close\r\n")) as sent:
        answers = sent.rest()
    assert all(answer.status == 200 for answer in answers)
    if request.node.callspec.params["tight_gateway"] == "h11":  # reads the next one when it has answered
        assert len(answers) == 201
    else:
        assert 17 <= len(answers) < 201


def test_a_url_of_our_own_and_an_upgrade_that_we_do_not_know_are_served(
    tight_gateway: Running, request: pytest.FixtureRequest
) -> None:
    with raw(tight_gateway.url, get(headers=HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n")) as sent:
        assert sent.answer().status == 200
        sent.send(get())
        assert sent.answer().status == 200
    with raw(tight_gateway.url, get("http://localhost/health")) as sent:
        found = 404 if request.node.callspec.params["tight_gateway"] == "h11" else 200
        assert sent.answer().status == found


def test_http_1_0_is_served_and_must_say_for_whom(tight_gateway: Running) -> None:
    with raw(tight_gateway.url, get(version=b"1.0")) as old:
        assert [answer.status for answer in old.rest()] == [200]
    with raw(tight_gateway.url, get(version=b"1.0", headers=b"")) as older:
        assert [refused(answer) for answer in older.rest()] == [(421, "wrong_host")]
