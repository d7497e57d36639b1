"""JSON is read strictly: what is refused says why, what passes means the same to every reader."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson

REFUSED = [
    (b"NaN", "not_finite"),
    (b"[Infinity]", "not_finite"),
    (b"-Infinity", "not_finite"),
    (b"1e999", "not_finite"),
    (b'{"a":1,"a":2}', "duplicate_key"),
    (b'{"x":{"a":1,"b":0,"a":1}}', "duplicate_key"),
    (b'{"a":1,"\\u0061":2}', "duplicate_key"),
    (b'"\\ud800"', "surrogate"),
    (b'{"\\udfff":1}', "surrogate"),
    (b'"\xed\xa0\x80"', "encoding"),
    (b'"\xff"', "encoding"),
    (b"\xef\xbb\xbf1", "encoding"),
    (b"[" * 65 + b"]" * 65, "depth"),
    (b'{"a":' * 65 + b"1" + b"}" * 65, "depth"),
    (b"[" * 100_000, "depth"),
    (b"[[]," * 65 + b"1" + b"]" * 65, "depth"),
    (b'{"a":[],"b":' * 65 + b"1" + b"}" * 65, "depth"),
    (b'{"a":[],"b":[' * 33 + b"1" + b"]}" * 33, "depth"),
    (b'"' + b'\\"' * 500_000 + b"[" * 65, "syntax"),
    (b"9" * 4301, "digits"),
    (b"", "syntax"),
    (b"{", "syntax"),
    (b"[1,]", "syntax"),
    (b"{'a':1}", "syntax"),
    (b"1 2", "syntax"),
    (b"01", "syntax"),
    (b'"a\nb"', "syntax"),
]


@pytest.mark.parametrize(("raw", "reason"), REFUSED, ids=[raw[:24].decode("latin-1") for raw, _ in REFUSED])
def test_refused_with_its_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(InvalidJson) as refusal:
        strict_json.parse(raw)
    assert refusal.value.details["reason"] == reason


KEPT: list[tuple[bytes, Any]] = [
    (b"[" * 64 + b"]" * 64, None),
    (b"[" + b"[1]," * 5_000 + b"{}]", None),
    (b"[[]," * 63 + b"[]" + b"]" * 63, None),
    (b'{"a":[],"b":[' * 32 + b"1" + b"]}" * 32, None),
    (b'"' + b"[" * 500 + b'"', "[" * 500),
    (b'"\\"' + b"[" * 500 + b'"', '"' + "[" * 500),
    (b"9" * 4300, None),
    (b"18446744073709551616", 2**64),
    (b"-0.0", -0.0),
    (b'"\\u0000"', "\0"),
    (b'"\\ud83d\\ude00"', "😀"),
    (b' { "b" : 1 , "a" : [ ] } ', {"b": 1, "a": []}),
]


@pytest.mark.parametrize(("raw", "value"), KEPT, ids=[raw[:24].decode("latin-1") for raw, _ in KEPT])
def test_kept(raw: bytes, value: Any) -> None:
    parsed = strict_json.parse(raw)
    if value is not None:
        assert parsed == value
    assert strict_json.check(raw) == raw


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_dumped_parses_to_the_same(value: Any) -> None:
    assert strict_json.parse(strict_json.dump(value)) == value


def test_what_is_shown_may_be_deeper_than_what_is_kept() -> None:
    value: Any = 1
    for _ in range(70):
        value = [value]
    assert json.loads(strict_json.encode(value)) == value
    with pytest.raises(InvalidJson):
        strict_json.dump(value)


@given(VALUES)
def test_spelling_does_not_change_the_value(value: Any) -> None:
    one = strict_json.dump(value)
    other = json.dumps(value, indent=1, sort_keys=True).encode()
    assert strict_json.same_value(one, other)


@given(st.binary(max_size=60))
def test_any_bytes_are_parsed_or_refused(raw: bytes) -> None:
    try:
        strict_json.parse(raw)
    except InvalidJson as refusal:
        assert refusal.details["reason"]


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], "\ud800", object(), {"a": object()}, {(1, 2): 3}])
def test_values_without_json_are_refused(value: Any) -> None:
    with pytest.raises(InvalidJson):
        strict_json.dump(value)


@pytest.mark.parametrize(
    ("one", "other"), [(b"1", b"1.0"), (b"1", b"true"), (b"null", b"false"), (b'"1"', b"1"), (b"[1,2]", b"[2,1]")]
)
def test_values_that_differ(one: bytes, other: bytes) -> None:
    assert not strict_json.same_value(one, other)
