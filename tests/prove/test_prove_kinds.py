"""Every broken runtime is disproven by exactly the proofs that should, and the honest one by none."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.prove.prover import Proved, prove

from holdfast.prove.broken.expected import KINDS
from holdfast.prove.proofs import catalogue

# The honest one speaks both versions; the others take turns.
RUNS = [("none", "1.0"), *((kind, ("0.3", "1.0")[place % 2]) for place, kind in enumerate(KINDS))]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Future[Proved]]:
    """All runs, started together and three at a time, the longest first."""

    def run(kind: str, wire: str, artifacts: Path) -> Proved:
        return prove("--target", f"broken:{kind}", "--wire", wire, "--timeout", "10", "--json", artifacts=artifacts)

    pool = ThreadPoolExecutor(max_workers=3)
    longest_first = sorted(RUNS, key=lambda run: run[0] != "orphans-tasks")
    started = {
        (kind, wire): pool.submit(run, kind, wire, tmp_path_factory.mktemp("kind")) for kind, wire in longest_first
    }
    pool.shutdown(wait=False)
    return started


@pytest.mark.parametrize(("kind", "wire"), RUNS)
def test_a_kind_is_disproven_by_exactly_the_proofs_that_should(
    runs: dict[tuple[str, str], Future[Proved]], kind: str, wire: str
) -> None:
    proved = runs[kind, wire].result()
    expected = KINDS[kind]
    verdicts = dict.fromkeys(catalogue(), "proven")
    verdicts |= dict.fromkeys(expected.disproven, "disproven")
    verdicts |= dict.fromkeys(expected.not_reached, "not reached")
    assert proved.verdicts() == verdicts
    assert proved.exit_code == (1 if expected.disproven else 0)


@pytest.mark.parametrize(("kind", "wire"), [run for run in RUNS if run[0] != "none"])
def test_what_is_disproven_is_shown(runs: dict[tuple[str, str], Future[Proved]], kind: str, wire: str) -> None:
    proofs = runs[kind, wire].result().summary["proofs"]
    for proof in (proof for proof in proofs if proof["verdict"] == "disproven"):
        assert proof["expected"]
        assert proof["got"]
        assert proof["curl"].startswith("curl ")


def test_the_honest_one_is_proven_within_the_budget(runs: dict[tuple[str, str], Future[Proved]]) -> None:
    assert runs["none", "1.0"].result().summary["seconds"] < 10
