"""Every broken runtime is disproven by exactly the proofs that should, and the honest one by none."""

from pathlib import Path

import pytest
from tests.prove.prover import prove

from holdfast.prove.broken.expected import KINDS
from holdfast.prove.runtime.proofs import catalogue

# The honest one speaks both versions; the others take turns.
RUNS = [("none", "1.0"), *((kind, ("0.3", "1.0")[place % 2]) for place, kind in enumerate(KINDS))]
QUICK = [("none", "1.0"), ("memory-only", "0.3"), ("loses-the-tail", "1.0")]


@pytest.mark.parametrize(
    ("kind", "wire"), [pytest.param(*run, marks=() if run in QUICK else pytest.mark.long) for run in RUNS]
)
def test_a_kind_is_disproven_by_exactly_the_proofs_that_should(kind: str, wire: str, tmp_path: Path) -> None:
    proved = prove("--target", f"broken:{kind}", "--wire", wire, "--timeout", "10", "--json", artifacts=tmp_path)
    expected = KINDS[kind]
    verdicts = dict.fromkeys(catalogue(), "proven")
    verdicts |= dict.fromkeys(expected.disproven, "disproven")
    verdicts |= dict.fromkeys(expected.not_reached, "not reached")
    assert proved.verdicts() == verdicts
    assert proved.exit_code == (1 if expected.disproven else 0)
    for proof in (proof for proof in proved.summary["proofs"] if proof["verdict"] == "disproven"):
        assert proof["expected"]
        assert proof["got"]
        assert proof["curl"].startswith("curl ")


def test_every_kind_has_its_place_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "broken-targets.md").read_text()
    assert [kind for kind in KINDS if f"`{kind}`" not in page] == ["none"]


def test_every_kind_of_wrong_is_seen_by_some_proof() -> None:
    assert {kind for kind, expected in KINDS.items() if not expected.disproven} == {"none"}
    assert len(KINDS) > 12
    assert set(QUICK) <= set(RUNS)
