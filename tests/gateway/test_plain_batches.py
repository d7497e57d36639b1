"""A batch is looked at as a whole first: whatever it is, that changes no answer, only how soon it comes."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.test_strict_json import KEPT, REFUSED, VALUES

from holdfast.core import json_batch, strict_json
from holdfast.core.errors import InvalidInput, InvalidJson
from holdfast.core.json_batch import CHUNK, is_plain
from holdfast.core.large_json import LARGE, LARGE_JSON
from holdfast.gateway.api.body import MAX_PLAIN, parse_action, parse_actions
from holdfast.gateway.wire.sessions import NewAction

SPELLINGS: list[Callable[[Any], str]] = [
    lambda value: strict_json.dump(value).decode(),
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, indent=1),
]
NAMES = ("details", "type", "timestamp", "eventId", "expectedSeq", "other", "deta\u00efls")
ODD = [raw for raw, _ in (*KEPT, *REFUSED) if len(raw) < 1_000]
ACTIONS = st.fixed_dictionaries({"type": st.sampled_from(["note", "", "h\u00e4 [{"])}, optional={"details": VALUES})
OBJECTS = ACTIONS | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)
SPELT = st.builds(lambda value, spelling: spelling(value).encode(), OBJECTS, st.sampled_from(SPELLINGS))
DETAILS = st.sampled_from(ODD).map(lambda raw: b'{"type":"x","details":%b}' % raw)
TEXTS = (
    SPELT
    | DETAILS
    | st.sampled_from([*ODD, b"", b"\r", b"{}", b'{"type":"x"} {"type":"y"}', b'{"type":"x","type":"y"}'])
)
BATCHES = st.builds(
    lambda texts, frame: frame[0] + frame[1].join(texts) + frame[2],
    st.lists(TEXTS, max_size=6),
    st.sampled_from(
        [(b"", b"\n", b""), (b"", b"\n", b"\n"), (b"", b"\r\n", b""), (b"[", b",", b"]"), (b" [", b" ,\n", b"] ")]
    ),
)


def one_by_one(raw: bytes) -> list[NewAction]:
    """The actions of a batch, each text of it read by itself."""
    actions = []
    for place, text in json_batch.texts(raw):
        try:
            actions.append(parse_action(text))
        except InvalidInput as error:
            raise type(error)(f"{place}: {error.message}", hint=error.hint, **error.details) from None
    return actions


def outcome(parse: Callable[[bytes], list[NewAction]], raw: bytes) -> object:
    """What comes of a batch: actions with their details byte for byte, or the refusal."""
    try:
        actions = parse(raw)
    except InvalidInput as error:
        return type(error), error.message, error.hint, error.details
    return [(bytes(action.details), *(getattr(action, name) for name in own(action))) for action in actions]  # type: ignore[arg-type]


def own(action: NewAction) -> list[str]:
    return [name for name in action.__struct_fields__ if name != "details"]


def all_kept(raw: bytes) -> bool:
    """Whether each text of a batch is JSON that we keep."""
    try:
        for text in json_batch.texts(raw):
            strict_json.parse(text.raw)
    except InvalidJson:
        return False
    return True


@given(BATCHES)
@example(b'{"type":\n"x"}')
@example(b'[{"type":"x","details":{"a":\n1}}]')
@example(b'{"type":"x","details":' + b"[" * 63 + b"]" * 63 + b"}")
@example(b'{"type":"x","details":' + b"[" * 64 + b"]" * 64 + b"}")
@example(b'{"type":"x","details":"' + b"[{" * 100 + b'"}\n{"type":"x"}')
def test_all_at_once_and_one_by_one_come_to_the_same(raw: bytes) -> None:
    expected = outcome(one_by_one, raw)
    assert outcome(parse_actions, raw) == expected
    if not all_kept(raw):
        assert not is_plain(raw)
    else:
        assert outcome(parse_actions, strict_json.CheckedJson(raw)) == expected


@pytest.mark.parametrize("spelling", SPELLINGS[:3], ids=["ours", "with spaces", "with other alphabets"])
@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
def test_ordinary_batches_are_plain(spelling: Callable[[Any], str], *, lines: bool) -> None:
    actions = [{"type": "note", "details": {"text": f"n {n}", "code": "if (a[0]) { }" * (n // 3)}} for n in range(100)]
    texts = [spelling(action) for action in actions]
    assert is_plain(("\n".join(texts) if lines else f"[{','.join(texts)}]").encode())


@given(st.lists(st.integers(0, 3 * CHUNK), max_size=12), st.booleans())
def test_what_is_looked_at_together_is_whole_lines_and_little(sizes: list[int], ends: bool) -> None:
    raw = b"\n".join(b"x" * size for size in sizes) + b"\n" * ends
    chunks = list(json_batch.chunks(raw))
    assert b"".join(chunks) == raw
    assert all(chunk.endswith(b"\n") for chunk in chunks[:-1])
    assert all(len(chunk) <= CHUNK or chunk.find(b"\n") in (-1, len(chunk) - 1) for chunk in chunks)


ACTION = b'{"type":"x","details":{"text":"%b"}}' % (b"x" * 1_000)
PLAIN = b"\n".join([ACTION] * (LARGE // len(ACTION) + 1))


@pytest.mark.parametrize(
    ("batch", "elsewhere"),
    [
        (PLAIN, False),
        (b"[" + PLAIN.replace(b"\n", b",") + b"]", False),
        (PLAIN + b"\n" + ACTION.replace(b"}}", b',"n":1e2}}'), True),
        (PLAIN + b'\n{"type":"x","details":{"text":"%b"}}' % (b"x" * CHUNK), True),
        ((PLAIN + b"\n") * (MAX_PLAIN // len(PLAIN) + 1), True),
    ],
    ids=["lines", "array", "a number that we would write otherwise", "a line that is long", "more than a megabyte"],
)
async def test_only_what_is_plain_and_not_too_much_is_looked_at_here(
    client: httpx2.AsyncClient, batch: bytes, *, elsewhere: bool
) -> None:
    """The rest may keep the interpreter, and everybody waiting: another process reads it."""
    LARGE_JSON.close()
    await client.post("/api/actions/s/batch", content=batch)
    assert (LARGE_JSON._process is not None) == elsewhere
