"""The page that describes the proofs is made from them, and says something of each."""

from pathlib import Path

import pytest

from holdfast.prove.runtime.page import page
from holdfast.prove.runtime.proofs import catalogue

ROOT = Path(__file__).parents[2]


def test_the_page_is_fresh() -> None:
    assert (ROOT / "docs" / "proofs.md").read_text() == page(), "run .venv/bin/python scripts/proofs-page"


@pytest.mark.parametrize("name", catalogue())
def test_every_proof_says_what_it_does_and_when_it_holds(name: str) -> None:
    proof = catalogue()[name]
    assert proof.steps.__doc__
    assert proof.check.__doc__
    assert proof.after is None or proof.after.__doc__
    section = page().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert "**steps**" in section
    assert "**holds when**" in section
    assert "**disproves**" in section
