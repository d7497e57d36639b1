"""How text becomes words, what a query means, and what a snippet shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.store.text.tokenizer import (
    BREAK,
    MAX_ASKED,
    MAX_BYTES,
    MAX_LENGTH,
    MAX_PLACES,
    MAX_TOKENS,
    Query,
    Term,
    document,
    parse_query,
    snippet,
    split,
    texts,
)


def words(text: str) -> list[str]:
    return [word.text for word in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World-wide 3.14 snake_case don't", "hello world wide 3 14 snake case don t"),
        ("naïve cafe\u0301 ÅNGSTRÖM Straße ΟΔΟΣ İstanbul", "naive cafe angstrom strasse οδοσ istanbul"),
        ("ﬁne Ｆｕｌｌ ①② ½", "fine full 12 1 2"),
        ("ich mag 東京タワー!", "ich mag 東 京 タ ワ ー"),
        ("ｶﾞ ガ カ が", "ガ ガ カ が"),
        ("서울 \u1112\u1161\u11ab", "서 울 한"),
        ("हिन्दी में", "हिन्दी में"),
        ("שָׁלוֹם مُحَمَّد", "שלום محمد"),
        ("zero\u00adwidth \u0301 — … \ud800 🙂", "zerowidth"),
        ("", ""),
    ],
)
def test_words_are_folded_runs_of_letters_and_digits(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@given(st.text(max_size=60))
def test_words_are_plain_and_lie_in_order_in_their_text(text: str) -> None:
    start = end = 0
    for word in split(text):
        assert start <= word.start < word.end <= len(text)
        assert end <= word.end
        start, end = word.start, word.end
        assert not set(word.text) & set("'\"\\ \t\n*:&|!()<>¶§¤-"), "nothing that an engine's query language knows"
        assert word.text.encode()
        assert words(text[word.start : word.end]).count(word.text) >= 1 or len(word.text) == MAX_LENGTH


def test_a_run_of_marks_takes_no_square_time_and_no_word() -> None:
    assert words("a" + "\u0301\u0323" * 200_000) == ["a"]
    assert words("\u0301" * 1000) == []


def test_long_words_are_known_by_their_first_characters() -> None:
    assert words("x" * 5000) == ["x" * MAX_LENGTH]
    assert words("ä" * 5000) == ["a" * MAX_LENGTH]


def test_the_texts_of_a_payload_are_its_values_not_its_names() -> None:
    payload = strict_json.dump({"name": "one", "n": 7, "list": ["two", {"deep": "three", "no": None}], "yes": True})
    assert texts(payload) == ["one", "two", "three"]
    assert texts(b'"alone"') == ["alone"]
    assert texts(b'{"broken": "pay') == []


def test_a_phrase_does_not_go_from_one_text_to_the_next() -> None:
    assert document(["one two", "...", "", "three"]) == ["one", "two", BREAK, "three"]


@given(st.lists(st.text(max_size=40), max_size=5))
def test_a_document_has_the_words_of_its_texts(given: list[str]) -> None:
    parts = [part for part in (words(text) for text in given) if part]
    assert " ".join(document(given)).split(f" {BREAK} ") == [" ".join(part) for part in parts] or not parts


def test_documents_are_bounded() -> None:
    assert len(document(["a b " * MAX_TOKENS])) == MAX_TOKENS
    assert len(document(["a b", "c d"] * MAX_TOKENS)) == MAX_TOKENS
    long = document([" ".join(f"{n:06}" + "東" * 0 + "x" * 190 for n in range(10_000))])
    assert sum(map(len, long)) <= MAX_BYTES < sum(map(len, long)) + MAX_LENGTH
    many = document(["same " * 300])
    assert many.count("same") == MAX_PLACES
    assert len(many) == 300


@pytest.mark.parametrize(
    ("text", "terms", "excluded"),
    [
        ("red Fox", [("red",), ("fox",)], []),
        ('"red fox" den', [("red", "fox"), ("den",)], []),
        ("re*", ["re*"], []),
        ('"red fo"*', ["red fo*"], []),
        ('fox -den -"a b" -x*', [("fox",)], [("den",), ("a", "b"), "x*"]),
        ("well-known a@b.c", [("well", "known"), ("a", "b", "c")], []),
        ("東京", [("東", "京")], []),
        ('"never closed', [("never",), ("closed",)], []),
        ('a"b c"d', [("a",), ("b", "c"), ("d",)], []),
        ("AND OR NOT NEAR(a) words:x ^y {z}", "and or not | near a | words x | y | z", []),
        ("fox fox", [("fox",)], []),
        ("* - \" () fox ''", [("fox",)], []),
    ],
)
def test_queries(text: str, terms: object, excluded: list[object]) -> None:
    if isinstance(terms, str):
        one, *phrases = terms.split(" | ")
        terms = [(word,) for word in one.split()] + [tuple(phrase.split()) for phrase in phrases]
    assert parse_query(text) == Query(_terms(terms), _terms(excluded))


def _terms(given: object) -> tuple[Term, ...]:
    assert isinstance(given, list)
    return tuple(
        Term(tuple(term.rstrip("*").split()), prefix=True) if isinstance(term, str) else Term(term) for term in given
    )


@pytest.mark.parametrize("text", ["", "   ", "-only -excluded", '""', "*", '- * \' -""', "\ud800", "-東京"])
def test_a_query_for_nothing_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_query(text)
    assert refusal.value.hint


def test_a_query_for_too_much_is_refused_with_a_hint() -> None:
    assert len(parse_query(" ".join(f"w{n}" for n in range(MAX_ASKED))).terms) == MAX_ASKED
    with pytest.raises(InvalidInput) as refusal:
        parse_query("東" * (MAX_ASKED + 1))
    assert refusal.value.hint


def shown(query: str, *found_in: str) -> tuple[str, list[str]]:
    text, highlights = snippet(parse_query(query), found_in)
    assert len(text) <= 200
    return text, [text[start:end] for start, end in highlights]


def test_a_snippet_shows_the_text_as_it_was_and_where_the_words_are() -> None:
    assert shown("CAFE", "user", "Le Café et le cafe\u0301.") == (
        "Le Café et le cafe\u0301.",
        ["Café", "cafe\u0301"],
    )
    assert shown('"tokyo tower" tok*', "A Tokyo Tower, a token") == (
        "A Tokyo Tower, a token",
        ["Tokyo Tower", "token"],
    )
    assert shown("東京", "私は東京タワーへ") == ("私は東京タワーへ", ["東京"])
    assert shown("1", "½ litre") == ("½ litre", ["½"])


def test_a_snippet_is_cut_around_the_first_match() -> None:
    text, found = shown("needle", "hay " * 5000 + "the needle " + "hay " * 5000)
    assert found == ["needle"]
    assert 100 < len(text) <= 200
    assert text.startswith("hay ")
    assert shown("needle", "x" * 5000 + " needle")[1] == ["needle"]
    assert shown("x*", "x" * 5000)[1] == ["x" * 200]
    assert shown("gone", "", "nothing here") == ("nothing here", [])


@given(st.lists(st.text(max_size=300), max_size=4), st.text(min_size=1, max_size=8))
def test_highlights_lie_in_the_snippet_and_do_not_overlap(found_in: list[str], query: str) -> None:
    try:
        asked = parse_query(query)
    except InvalidInput:
        return
    text, highlights = snippet(asked, found_in)
    assert len(text) <= 200
    end = 0
    for start, stop in highlights:
        assert end <= start < stop <= len(text)
        end = stop
    assert any(text in leaf for leaf in [*found_in, ""])
