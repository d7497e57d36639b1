"""Secrets are taken out of text, whatever they look like; what is none stays."""

import pytest
from tests.support.secret_cases import HARMLESS, OURS, SECRET, TELLING, is_hidden

from holdfast.core.redact import redact, redact_fields


@pytest.mark.parametrize("text", TELLING)
def test_a_secret_is_taken_out(text: str) -> None:
    assert is_hidden(redact(text))
    assert "***" in redact(text)


@pytest.mark.parametrize("text", TELLING)
def test_taking_out_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_what_it_was_for_can_still_be_read() -> None:
    assert redact(f"postgresql://ada:{SECRET}@db/holdfast") == "postgresql://ada:***@db/holdfast"
    assert redact(f"the token {OURS} is not valid") == "the token hf_abcdefghij_*** is not valid"
    assert redact(f"Authorization: Bearer {OURS}, then") == "Authorization: ***, then"
    assert redact(f"?token={SECRET}&after=1") == "?token=***&after=1"


def test_fields_are_hidden_by_their_names_and_by_what_they_say() -> None:
    found = redact_fields(
        {
            "Authorization": SECRET,
            "accessToken": SECRET,
            "tokens": 12,
            "nested": {"password": [SECRET], "url": f"https://u:{SECRET}@h/"},
            "list": [f"sk-{SECRET}", 3, None],
            "tokenId": "abcdefghij",
        }
    )
    assert SECRET not in str(found)
    assert (found["tokens"], found["tokenId"], found["list"][1:]) == (12, "abcdefghij", [3, None])


@pytest.mark.parametrize(
    "piece", ["a", "://a:", "password", "password=", "bearer ", "hf_", "-----BEGIN ", "eyJ.", '\\"', "cookie"]
)
def test_no_text_takes_for_ever(piece: str) -> None:
    """100,000 characters made to be matched again and again: this comes to its end, in milliseconds."""
    for text in (piece * (100_000 // len(piece)), 'password="' + piece * (100_000 // len(piece))):
        redact(text)
