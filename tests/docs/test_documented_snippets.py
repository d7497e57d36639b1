"""What the README and the docs show works as printed (`tests/support/snippets.py` says how it is run)."""

import re
from pathlib import Path

import pytest
from tests.support.snippets import Snippet, run_as_printed, snippets


@pytest.mark.parametrize("snippet", snippets(), ids=lambda snippet: snippet.name)
def test_snippet_works_as_printed(snippet: Snippet, tmp_path: Path) -> None:
    run_as_printed(snippet, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    "snippet", [each for each in snippets() if each.name.startswith("README")], ids=lambda s: s.name
)
def test_what_the_readme_shows_can_be_run_twice(snippet: Snippet, tmp_path: Path) -> None:
    for _ in range(2):
        run_as_printed(snippet, tmp_path)


@pytest.mark.parametrize("snippet", snippets(), ids=lambda snippet: snippet.name)
def test_a_snippet_stops_what_it_starts(snippet: Snippet) -> None:
    _, started, rest = snippet.code.rpartition(" &\n")
    assert not started or re.search(r"^kill ", rest, re.M), "the next snippet of the page would talk to its gateway"


def test_the_pages_have_snippets() -> None:
    assert len(snippets()) >= 8
