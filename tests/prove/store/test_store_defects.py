"""A clause must be able to fail: each is disproven by a store that has the defect, and proven by one that has none."""

from pathlib import Path

import pytest
from tests.prove.store.defects import DEFECTS, wrong_verdicts
from tests.prove.store.putting import SMALL, little, put

from holdfast.prove.store.clauses import contract

RACES = ("concurrent", "long-session", "prefix", "stale-state", "stale-writer")


@pytest.mark.parametrize("clauses", [RACES, pytest.param(tuple(contract()), marks=pytest.mark.long)])
def test_a_correct_store_is_proven(clauses: tuple[str, ...], tmp_path: Path) -> None:
    done = put("--adapter", little("Little"), "--only", ",".join(clauses), *SMALL, artifacts=tmp_path)
    assert done.verdicts() == dict.fromkeys(clauses, "proven"), done.stdout
    assert done.exit_code == 0


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_seen_by_its_clause(name: str, tmp_path: Path) -> None:
    expected = DEFECTS[name]
    only = ",".join(expected.disproven)
    done = put("--adapter", little(name), "--only", only, *SMALL, artifacts=tmp_path)
    assert done.exit_code == 1, done.stdout + done.stderr
    assert done.verdicts() == dict.fromkeys(expected.disproven, "disproven")
    for clause, reason in expected.disproven.items():
        assert reason in done.clause(clause)["reason"]


def test_every_clause_has_a_store_that_it_disproves() -> None:
    assert {clause for expected in DEFECTS.values() for clause in expected.disproven} == set(contract())


@pytest.mark.long
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_not_seen_by_other_clauses(name: str, tmp_path: Path) -> None:
    """A third of them, each time another; `make chaos ARGS="clauses"` puts every clause to every store."""
    others = [clause for clause in contract() if clause not in DEFECTS[name].disproven]
    some = others[list(DEFECTS).index(name) % 3 :: 3]
    done = put("--adapter", little(name), "--only", ",".join(some), *SMALL, artifacts=tmp_path)
    assert wrong_verdicts(name, done.verdicts()) == []


def test_what_is_expected_of_a_defect_is_told_of_the_clauses_that_were_put() -> None:
    assert wrong_verdicts("ForgetsKeys", {"retry": "disproven", "other-body": "disproven", "kept": "proven"}) == []
    assert wrong_verdicts("ForgetsKeys", {"retry": "proven", "kept": "disproven", "prefix": "inconclusive"}) == [
        "ForgetsKeys: retry is proven, not disproven",
        "ForgetsKeys: kept is disproven, not proven",
    ]
