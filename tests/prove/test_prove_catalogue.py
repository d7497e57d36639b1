"""The catalogue is consistent: every need exists and runs earlier, and the table of broken kinds names real proofs."""

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.broken.kinds import RUNTIMES
from holdfast.prove.prerequisites import PREREQUISITES
from holdfast.prove.proofs import catalogue, select

PROOFS = catalogue()


def test_every_proof_of_the_first_cut_is_found_by_name() -> None:
    assert set(PROOFS) >= {"name", "isolation", "restart", "crash", "crash-mid-turn", "duplicate", "parallel"}


@pytest.mark.parametrize("name", PROOFS)
def test_what_a_proof_needs_runs_before_it(name: str) -> None:
    proof = PROOFS[name]
    before = {prerequisite.name for prerequisite in PREREQUISITES}
    before |= {other.name for other in PROOFS.values() if proof.restarts and not other.restarts}
    assert set(proof.needs) <= before


def test_a_proof_brings_what_it_needs() -> None:
    assert [proof.name for proof in select(PROOFS, {"crash"})] == ["name", "crash"]


def test_an_unknown_proof_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InvalidInput) as refusal:
        select(PROOFS, {"name", "telepathy"})
    assert "telepathy" in refusal.value.message
    assert "crash-mid-turn" in (refusal.value.hint or "")


def test_every_kind_has_a_runtime_and_names_real_proofs() -> None:
    assert list(KINDS) == list(RUNTIMES)
    for expected in KINDS.values():
        assert expected.disproven | expected.not_reached <= set(PROOFS)


def test_every_proof_can_fail() -> None:
    assert set(PROOFS) == {name for expected in KINDS.values() for name in expected.disproven}
