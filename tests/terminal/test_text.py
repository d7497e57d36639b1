"""Text that cannot drive a terminal, and fits it."""

import json

import pytest

from holdfast.terminal.text import cut, escaped, escaped_json, fold, one_line, width_of

HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b31m\u202eback\u2066\x7f\x08\ud800\U000e0001"


def test_text_is_measured_in_columns() -> None:
    assert (width_of("abc"), width_of("日本"), width_of("e\u0301")) == (3, 4, 1)
    assert (cut("日本語", 5), cut("日本語", 6), cut("abc", 0), cut("abcd", 3)) == ("日本…", "日本語", "", "ab…")
    assert one_line("a\nb\tc\u3000d\x1be") == "a b c\u3000d\ufffde"


@pytest.mark.parametrize("safe", [one_line, escaped, escaped_json])
def test_nothing_drives_a_terminal(safe: "type[str]") -> None:
    assert safe(HOSTILE + "\r\n\t").isprintable()
    assert safe("plain “é” 日本語") == "plain “é” 日本語"


def test_what_is_escaped_can_be_read_back() -> None:
    assert escaped("a\x1b\xa0\n") == "a\\x1b\\xa0\\n"
    assert escaped("a\n\x1b", keep="\n") == "a\n\\x1b"
    assert json.loads(escaped_json(json.dumps(HOSTILE, ensure_ascii=False))) == HOSTILE


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two", ["one two"]),
        ("one two three", ["one two", "three"]),
        ("a-long-word that-is", ["a-long-w", "ord", "that-is"]),
        ("in 日本語日本語", ["in", "日本語日", "本語"]),
        ("exactly8   then", ["exactly8", "then"]),
    ],
)
def test_text_is_folded_at_spaces_and_loses_no_word(text: str, lines: list[str]) -> None:
    assert fold(text, 8) == lines


def test_a_column_that_is_narrower_than_a_character_still_shows_it() -> None:
    assert fold("日本", 1) == ["日", "本"]
