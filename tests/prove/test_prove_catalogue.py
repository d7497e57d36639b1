"""The catalogue is consistent: every need exists and runs earlier, and the table of broken kinds names real proofs."""

import inspect
import re
from dataclasses import replace

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.broken.kinds import RUNTIMES
from holdfast.prove.runtime.prerequisites import PREREQUISITES
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import GATE, ORDER, catalogue
from holdfast.prove.runtime.selection import select

PROOFS = catalogue()


def test_the_catalogue_is_whole_and_in_order() -> None:
    assert list(PROOFS) == list(ORDER)
    assert len(PROOFS) == 27


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
    assert proof.after_kill is None or proof.power == "stop"


def test_a_proof_brings_what_it_needs() -> None:
    assert [proof.name for proof in select(PROOFS, {"crash"}).proofs] == ["name", "crash"]


def test_an_unknown_proof_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InvalidInput) as refusal:
        select(PROOFS, {"name", "telepathy"})
    assert "telepathy" in refusal.value.message
    assert "crash-mid-turn" in (refusal.value.hint or "")


def test_no_two_proofs_tell_different_things_of_one_favorite() -> None:
    # A runtime may keep what a user says beyond the conversation. Then what one proof tells must not change another's.
    modules = {proof.name: inspect.getsource(inspect.getmodule(proof.steps) or pytest) for proof in PROOFS.values()}
    told = {name: set(re.findall(r"favorite (\w+)", source)) for name, source in modules.items()}
    users = {
        thing: sorted(name for name, things in told.items() if thing in things) for thing in set().union(*told.values())
    }
    assert {thing: names for thing, names in users.items() if len(names) > 1} == {}
    assert users["color"] == ["memory"]


def test_every_kind_has_a_runtime_and_names_real_proofs() -> None:
    assert list(KINDS) == list(RUNTIMES)
    for expected in KINDS.values():
        assert expected.disproven | expected.not_reached <= set(PROOFS)


def test_every_proof_can_fail() -> None:
    assert set(PROOFS) == {name for expected in KINDS.values() for name in expected.disproven}


@pytest.mark.parametrize("proof", [proof for proof in catalogue().values() if proof.live], ids=lambda proof: proof.name)
def test_what_is_judged_without_a_restart_claims_none(proof: Proof) -> None:
    live = replace(proof, alone=True, times=3, cut=True).without_restarts()
    assert "restart" not in live.claim
    assert proof.claim.startswith(live.claim)
    assert (live.alone, live.times, live.cut, live.last_power) == (False, 1, False, None)
