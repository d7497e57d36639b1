"""Answers: JSON bytes with a status, and problems, the one shape of every failure."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.core import strict_json

JSON = "application/json"
JSON_TYPE = (b"content-type", JSON.encode())
HOLE = b"\0"
"""Where something else belongs in JSON that is being made: JSON itself never has this byte."""

_encoder = msgspec.json.Encoder()


class Answer(NamedTuple):
    """The body of a good answer, and the tag of what it shows, if it has one."""

    body: bytes
    tag: str | None = None


class JsonAnswer(Response):
    """A line of JSON with a status; most have no headers of their own, and get the two they need without a detour."""

    media_type = JSON

    def render(self, content: bytes) -> bytes:
        """The line, with its end: a shell's prompt comes after it, not beside it."""
        return content if content.endswith(b"\n") else content + b"\n"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """The length, the type, and what is given."""
        if headers is None:
            self.raw_headers = [(b"content-length", b"%d" % len(self.body)), JSON_TYPE]
        else:
            super().init_headers(headers)


def answer_of(value: Any) -> Answer:
    """The value as the body of an answer."""
    return Answer(_encoder.encode(value))


def answered(answer: Answer) -> Response:
    """The answer as it is sent."""
    return JsonAnswer(answer.body, 200, {"ETag": answer.tag} if answer.tag is not None else None)


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The value as a JSON answer."""
    return JsonAnswer(_encoder.encode_lines((value,)), status, headers)  # with its end, not copied to get one


class PiecesAnswer(Response):
    """A line of JSON in which large parts are sent as they are stored: to copy them into one takes long, and keeps
    everybody waiting. `value` has HOLE in the place of each part."""

    def __init__(self, value: Any, parts: Sequence[bytes]) -> None:
        between = _encoder.encode_lines((value,)).split(HOLE)
        assert len(between) == len(parts) + 1
        self.pieces = [piece for pair in zip_longest(between, parts) for piece in pair if piece]
        super().__init__(None)
        self.raw_headers = [(b"content-length", b"%d" % sum(map(len, self.pieces))), JSON_TYPE]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for number, piece in enumerate(self.pieces, 1):
            more = number < len(self.pieces)
            await send({"type": "http.response.body", "body": piece, "more_body": more})


def document(value: Any) -> msgspec.Raw:
    """A stored JSON value as part of an answer, whatever numbers are in it."""
    return msgspec.Raw(strict_json.encode(value))
