"""The page that describes the proofs is made from them, and says something of each."""

from pathlib import Path

import pytest

from holdfast.prove.runtime.documentation.page import page
from holdfast.prove.runtime.proofs import catalogue

ROOT = Path(__file__).parents[2]
PAGE = page(ROOT / "examples" / "targets")


def test_the_page_is_fresh() -> None:
    assert (ROOT / "docs" / "proofs.md").read_text() == PAGE, "run .venv/bin/python scripts/proofs-page"


@pytest.mark.parametrize("name", catalogue())
def test_every_proof_says_what_it_does_and_when_it_holds(name: str) -> None:
    proof = catalogue()[name]
    assert proof.steps.__doc__
    assert proof.check.__doc__
    assert proof.after is None or proof.after.__doc__
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert "**steps**" in section
    assert "**holds when**" in section
    assert "**disproves**" in section


NOT_SHOWN = {"peer", "children", "approval", "effect", "pause", "upgrade"}
"""What the agents of the examples do not do: ask others, ask back, resume, share their work, change their version."""


@pytest.mark.parametrize("name", catalogue())
def test_every_proof_says_what_to_do_where_it_fails_and_shows_it_in_code(name: str) -> None:
    proof = catalogue()[name]
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert 1 <= len(proof.remedy.rstrip(".").split(". ")) <= 2
    assert f"**where it fails**: {proof.remedy}" in section
    assert ("```python" in section) is bool(proof.shown_in)
    assert bool(proof.shown_in) is (name not in NOT_SHOWN)
