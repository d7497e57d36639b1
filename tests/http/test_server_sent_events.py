"""Server-sent events: what is written is read again, in whatever pieces it comes."""

import json
from typing import Any

import pytest

from holdfast.http.server_sent_events import HEARTBEAT, LONGEST_LINE, EventReader, LineTooLong, ascii_event, event


def test_an_event_has_a_type_a_place_and_data() -> None:
    assert event(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert event(b"{}", kind="two words\nand a line", place=7) == b"event: two words and a line\nid: 7\ndata: {}\n\n"
    assert event(b'{\r\n"a":\n1}', place="c") == b'id: c\ndata: {\ndata: "a":\ndata: 1}\n\n'


def test_what_some_readers_take_for_a_line_end_is_escaped() -> None:
    written = ascii_event({"text": "a\u2028b\u0085c\n"})
    assert written == b'data: {"text":"a\\u2028b\\u0085c\\n"}\n\n'


def test_events_are_read_from_any_pieces() -> None:
    documents: list[dict[str, Any]] = [{"n": 1}, {"text": "ä\u2028\n"}, {}]
    spaced = json.dumps({"lines": [1, 2]}, indent=1).encode()
    stream = HEARTBEAT + b"".join(map(ascii_event, documents)) + event(spaced, kind="k", place=3)
    for size in (1, 2, 7, len(stream)):
        reader = EventReader()
        pieces = (stream[start : start + size] for start in range(0, len(stream), size))
        read = [json.loads(data) for piece in pieces for data in reader.feed(piece)]
        assert read == [*documents, {"lines": [1, 2]}]


def test_an_event_without_its_end_is_none() -> None:
    assert list(EventReader().feed(b"data: {}\n")) == []


def test_a_line_without_end_is_refused() -> None:
    reader = EventReader()
    assert list(reader.feed(b"data: " + b"x" * (LONGEST_LINE - 6))) == []
    with pytest.raises(LineTooLong):
        list(reader.feed(b"x"))
