"""The page on the proof of a store: every clause, every offer, and results that a script wrote."""

import re

import pytest
from tests.prove.store.putting import ROOT

from holdfast.core.errors import InvalidInput
from holdfast.prove.store.adapter import OFFERS
from holdfast.prove.store.clauses import contract
from holdfast.prove.store.page import BEGIN, END, replaced, results

PAGE = ROOT / "docs" / "prove-store.md"
WORDS = {"proven", "**disproven**", "inconclusive", "not reached", "–"}


def test_every_clause_and_every_offer_is_on_the_page() -> None:
    page = PAGE.read_text()
    contract_part = page[page.index("## The contract") : page.index("## Results")]
    for clause in contract().values():
        needs = ", ".join(sorted(clause.needs))
        assert re.search(rf"^\| {clause.name} \| {needs} ?\|", contract_part, re.M), clause.name
    for offer in OFFERS:
        assert f"| `{offer}` |" in page, offer


def test_the_results_are_of_every_store_that_ships_and_of_every_clause() -> None:
    page = PAGE.read_text()
    table = page[page.index(BEGIN) : page.index(END)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    assert set(rows[0][1:]) == {path.stem for path in (ROOT / "examples" / "stores").glob("*.py")}
    assert [row[0] for row in rows[2:]] == list(contract())
    assert {cell for row in rows[2:] for cell in row[1:]} <= WORDS


def summary(name: str, verdict: str) -> dict[str, object]:
    clauses = [{"name": clause, "verdict": verdict, "reason": "because", "got": "a | b"} for clause in contract()]
    return {
        "adapter": f"examples/{name}.py",
        "store": "a store 1.0",
        "counts": {verdict: len(clauses)},
        "clauses": clauses,
        "started_at": "2026-11-15T00:00:00.000Z",
        "seed": 1,
        "seconds": 2.0,
        "arguments": {"cycles": 3, "events": 1000},
    }


def test_results_replace_results_and_nothing_else() -> None:
    text = results([summary("one", "disproven"), summary("two", "not offered")])
    page = replaced(f"before\n{BEGIN}old\n{END}after\n", text)
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "old" not in page
    assert "| kept | **disproven** | – |" in page
    assert "- kept disproven: because (a | b)" in page
    assert replaced(page, text) == page
    with pytest.raises(InvalidInput, match="no marks"):
        replaced("a page without marks", text)
