"""Hostile inputs for an HTTP server, as bytes, any number of them from one seed.

`requests` keep to the framing of HTTP, so that many go down one connection: hostile are their methods, paths,
headers and bodies. `conversations` break the framing, or stop in the middle, or are no HTTP at all: each has a
connection of its own.
"""

import json
import random
import string
import struct
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.hostile_corpus import (
    HEADER_NAMES,
    HEADER_VALUES,
    IDS,
    METHODS,
    OTHER_IDS,
    STREAMS,
    TEMPLATES,
    TOKENS,
    VALUES,
)

POOL = 40
RENEWED = 2_000
"""Requests after which others are the sessions that they are about: many of the old ones are deleted by then."""


class Hostile:
    """The inputs of one seed, for the gateway at one host and port."""

    def __init__(self, seed: int, host: str) -> None:
        self._chance = random.Random(seed)
        self._host = host
        self._asked = 0
        self._weights = [template.weight for template in TEMPLATES]
        self._bodies = {index: json.dumps(each.body).encode() for index, each in enumerate(TEMPLATES)}

    def requests(self, count: int) -> Iterator[bytes]:
        """So many requests; each ends where it says."""
        for index in self._chance.choices(range(len(TEMPLATES)), self._weights, k=count):
            yield self._request(index)

    def conversation(self) -> bytes:
        """All that is said on one connection that will not be answered as HTTP usually is."""
        makers: list[Callable[[], bytes]] = [
            *(self._noise, self._cut, self._cut, self._framing, self._framing, self._chunks, self._head, self._head),
            *(self._live, self._live, self._smuggled, self._line, self._left),
        ]
        return self._chance.choice(makers)()

    def _request(self, index: int) -> bytes:
        chance, template = self._chance, TEMPLATES[index]
        method = template.method if chance.random() < 0.95 else chance.choice(METHODS)
        path = self._path(template.path)
        body = b"" if template.body is None else self._body(template.body, self._bodies[index])
        if template.body is None and chance.random() < 0.05:
            body = chance.choice(TOKENS)
        host = (
            self._host if chance.random() < 0.98 else chance.choice(["evil.example", "", "localhost", "[::1]", "a b"])
        )
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
        while chance.random() < 0.25:
            name = chance.choice(HEADER_NAMES)
            value = chance.choice(HEADER_VALUES)
            if (name, value) != ("Expect", "100-continue"):
                lines.append(f"{name}: {value}")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    def _path(self, path: str) -> str:
        chance = self._chance
        session_id = chance.choice(IDS) if chance.random() < 0.15 else f"fuzz-{self._number()}"
        path = path.replace("{s}", session_id, 1)
        path = path.replace("{o}", chance.choice(OTHER_IDS), 1)
        before, mark, query = path.partition("?")
        if mark:
            parts = [part for part in query.split("&") if chance.random() < 0.5]
            for place, part in enumerate(parts):
                if chance.random() < 0.3:
                    name = part.partition("=")[0]
                    parts[place] = f"{name}={self._text()}"
            if chance.random() < 0.1:
                parts.append(f"{chance.choice(['create', 'limit', 'after', 'x', 'expectedSeq', ''])}={self._text()}")
            path = before + "?" + "&".join(parts) if parts else before
        if chance.random() < 0.05:
            at = chance.randrange(1, len(path) + 1)
            path = path[:at] + chance.choice(["/", "%2f", "//", ";", "%00", "..", "%", "?", "%25", "\\"]) + path[at:]
        return path

    def _number(self) -> int:
        """Of a session that may be there."""
        self._asked += 1
        return self._asked // RENEWED * POOL + self._chance.randrange(POOL)

    def _text(self) -> str:
        chance = self._chance
        known = [
            "",
            "0",
            "-1",
            "true",
            "maybe",
            "9223372036854775808",
            "1e3",
            "%00",
            "%ff",
            "x" * 300,
            "%F0%9F",
            "*",
            '"',
        ]
        if chance.random() < 0.6:
            return chance.choice(known)
        letters = string.ascii_letters + string.digits + "-_.~!$'()*,:@%+"
        return "".join(chance.choices(letters, k=chance.randrange(20)))

    def _body(self, value: Any, text: bytes) -> bytes:
        chance = self._chance
        draw = chance.random()
        if draw < 0.15:
            return text
        if draw < 0.5:
            return json.dumps(self._changed(value)).encode()
        if draw < 0.55:
            return chance.choice(TOKENS)
        if draw < 0.57:
            return self._large()
        return self._damaged(text)

    def _large(self) -> bytes:
        """A body that is small enough to be taken, and large enough to find what takes the square of its length."""
        chance = self._chance
        size = chance.randrange(1_000, 100_000)
        large = [
            b'{"type":"x","details":"' + b"x" * size + b'"}',
            b'"' + b'\\"' * size + b"[" * 65,
            b"[" * size,
            b'[{"type":"x","details":' + b"[" * size + b"]" * size + b"}]",
            b'{"a":' * size,
            b'{"type":"x","details":[' + b"[],{}," * (size // 10) + b"1]}",
            b"{" + b",".join(b'"%d":0' % number for number in range(size // 20)) + b"}",
            b"9" * size,
            b"\n" * size,
            b'{"type":"x"}\n' * (size // 20),
        ]
        return chance.choice(large)

    def _changed(self, value: Any) -> Any:
        """The value with something else in one place."""
        chance = self._chance
        if chance.random() < 0.1:
            return chance.choice(VALUES)
        if isinstance(value, dict) and value:
            name = chance.choice(list(value))
            draw = chance.random()
            if draw < 0.1:
                return {other: value[other] for other in value if other != name}
            if draw < 0.2:
                return {**value, chance.choice(["id", "x", "", "\0", "sessionId", "version"]): chance.choice(VALUES)}
            return {**value, name: self._changed(value[name])}
        if isinstance(value, list) and value:
            place = chance.randrange(len(value))
            return [*value[:place], self._changed(value[place]), *value[place + 1 :]]
        return chance.choice(VALUES)

    def _damaged(self, text: bytes) -> bytes:
        """The text with bytes changed, put in, taken out or doubled."""
        chance, found = self._chance, bytearray(text)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            at = chance.randrange(len(found) + 1)
            draw = chance.randrange(5)
            if draw == 0:
                found[at:at] = chance.choice(TOKENS)
            elif draw == 1:
                del found[at : at + chance.randrange(1, 12)]
            elif draw == 2 and found:
                found[at % len(found)] = chance.randrange(256)
            elif draw == 3:
                found[at:at] = found[at : at + chance.randrange(1, 20)]
            else:
                del found[at:]
        return bytes(found)

    def _noise(self) -> bytes:
        return self._chance.randbytes(self._chance.randrange(1, 400))

    def _cut(self) -> bytes:
        """A request that stops in its middle."""
        whole = next(self.requests(1))
        return whole[: self._chance.randrange(1, max(2, min(len(whole), 2_000)))]

    def _framing(self) -> bytes:
        """A request whose length is not what it says."""
        chance = self._chance
        lengths = [
            "-1",
            "+1",
            "0x1",
            "1 ",
            "1,1",
            "99999999999999999999",
            "1\r\nContent-Length: 2",
            "",
            "abc",
            "1_0",
            "007",
        ]
        encodings = [
            "chunked, chunked",
            "gzip",
            "identity",
            "Chunked",
            "chunked;q=1",
            " chunked",
            "xchunked",
            "\tchunked",
        ]
        field = (
            f"Content-Length: {chance.choice(lengths)}"
            if chance.random() < 0.6
            else f"Transfer-Encoding: {chance.choice(encodings)}"
        )
        head = f"POST /api/actions/fuzz-1 HTTP/1.1\r\nHost: {self._host}\r\n{field}\r\n\r\n"
        return head.encode() + chance.choice((b"", b'{"type":"x"}', b"0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"))

    def _chunks(self) -> bytes:
        """A body in chunks that are not quite chunks."""
        chance = self._chance
        head = f"POST /api/actions/fuzz-1 HTTP/1.1\r\nHost: {self._host}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        pieces = [
            *(
                b'5\r\n{"typ\r\n',
                b"FFFFFFFFFFFFFFFFF\r\n",
                b"-1\r\n",
                b"5;a=b\r\nabcde\r\n",
                b"0\r\n\r\n",
                b"0\r\nX: 1\r\n\r\n",
            ),
            *(
                b"zz\r\n",
                b"1\r\nab\r\n",
                b"3\nabc\n",
                b"00000000000000000005\r\n",
                b"0" * 3_000,
                b"1;" + b"x" * 5_000,
                b"\r\n",
            ),
        ]
        return head + b"".join(chance.choices(pieces, k=chance.randrange(1, 6)))

    def _head(self) -> bytes:
        """A head that is none, or too much of one."""
        chance = self._chance
        heads = [
            b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * chance.randrange(1, 400) + b"\r\n",
            b"GET / HTTP/1.1\r\nX: " + b"y" * chance.randrange(100_000) + b"\r\n\r\n",
            b"GET /" + b"a" * chance.randrange(100_000) + b" HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"GET / HTTP/1.1\r\n folded: 1\r\n\r\n",
            b"GET / HTTP/1.1\r\nNo colon\r\n\r\n",
            b"GET / HTTP/1.1\r\nNUL: a\0b\r\n\r\n",
            b"GET / HTTP/1.1\r\nBad\xffName: a\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET / HTTP/1.0\r\n\r\n",
            b"GET /\r\n\r\n",
            b"GET\r\n\r\n",
            b"\r\n\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
            b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: " + self._host.encode() + b"\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(60),
        ]
        return chance.choice(heads)

    def _smuggled(self) -> bytes:
        """One request to some, two to others."""
        inner = f"DELETE /api/sessions/fuzz-1 HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode()
        return (
            f"POST /api/actions/fuzz-1 HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(inner) + 5}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ).encode() + inner

    def _left(self) -> bytes:
        """Requests for answers that go on, from a client that does not."""
        chance = self._chance
        return b"".join(
            f"{chance.choice(STREAMS)} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: 0\r\n\r\n".encode()
            for _ in range(chance.randrange(1, 4))
        )

    def _line(self) -> bytes:
        """A good request with one byte of its head changed."""
        whole = bytearray(next(self.requests(1))[:4_000])
        end = max(1, whole.find(b"\r\n\r\n"))
        whole[self._chance.randrange(end)] = self._chance.randrange(256)
        return bytes(whole)

    def _live(self) -> bytes:
        """A WebSocket, its handshake good or not, and frames after it."""
        chance = self._chance
        query = chance.choice(
            ["", "?session=fuzz-1", "?session=fuzz-1&after=0", "?user=u", "?cursor=x", "?after=-1", "?session=.."]
        )
        lines = [
            f"GET /ws{query} HTTP/1.1",
            f"Host: {self._host}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            f"Sec-WebSocket-Version: {chance.choice(['13', '13', '13', '13', '8', 'x'])}",
            f"Sec-WebSocket-Key: {chance.choice(['AAAAAAAAAAAAAAAAAAAAAA==', 'AAAAAAAAAAAAAAAAAAAAAA==', 'x', ''])}",
        ]
        if chance.random() < 0.1:
            lines.append(
                chance.choice(["Origin: http://evil.example", "Sec-WebSocket-Protocol: bearer.x", "Content-Length: 3"])
            )
        frames = b"".join(self._frame() for _ in range(chance.randrange(6)))
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + frames

    def _frame(self) -> bytes:
        chance = self._chance
        payload = chance.choice((b"", b"x", b"\xff\xfe", b"{}", b"y" * 126, b"\x03\xe8", b"\0\0", b"z" * 2_000))
        masked = chance.random() < 0.8
        size = len(payload) if chance.random() < 0.9 else chance.choice((2**16 - 1, 2**31, 2**63, 2**64 - 1))
        head = bytes([chance.randrange(256) if chance.random() < 0.4 else 0x80 | chance.choice((1, 2, 8, 9, 10))])
        bit = 0x80 if masked else 0
        if size < 126:
            head += bytes([bit | size])
        elif size < 2**16:
            head += bytes([bit | 126]) + struct.pack("!H", size)
        else:
            head += bytes([bit | 127]) + struct.pack("!Q", size)
        return head + (b"\0\0\0\0" if masked else b"") + payload
