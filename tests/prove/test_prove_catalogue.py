"""The catalogue is consistent: every need exists and runs earlier, and the table of broken kinds names real proofs."""

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.broken.kinds import RUNTIMES
from holdfast.prove.runtime.prerequisites import PREREQUISITES
from holdfast.prove.runtime.proofs import GATE, ORDER, catalogue, select

PROOFS = catalogue()


def test_the_catalogue_is_whole_and_in_order() -> None:
    assert list(PROOFS) == list(ORDER)
    assert len(PROOFS) == 20


def test_a_release_waits_for_the_first_four() -> None:
    assert [proof.name for proof in PROOFS.values() if proof.gate] == list(GATE)


@pytest.mark.parametrize("name", PROOFS)
def test_what_a_proof_needs_is_known_before_it_begins(name: str) -> None:
    known = {proof.name for proof in (*PREREQUISITES, *PROOFS.values()) if proof.power is None}
    assert set(PROOFS[name].needs) <= known - {name}


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_with_a_restart_goes_on_after_it(name: str) -> None:
    proof = PROOFS[name]
    assert (proof.power is None) == (proof.after is None)


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
