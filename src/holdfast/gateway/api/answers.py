"""Answers: JSON bytes with a status, and problems, the one shape of every failure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from holdfast.core import strict_json

JSON = "application/json"
JSON_TYPE = (b"content-type", JSON.encode())

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


def document(value: Any) -> msgspec.Raw:
    """A stored JSON value as part of an answer, whatever numbers are in it."""
    return msgspec.Raw(strict_json.encode(value))
