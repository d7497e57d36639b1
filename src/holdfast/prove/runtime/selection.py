"""Which proofs are tried: those of some profiles, or those named, and what they need; the others are left out.

What is left out is listed with its reason. Only a choice of whoever asks, or something that the target does not claim
to have, is a reason to leave a proof out: one that fails is a disproof.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import get_args

from holdfast.core.errors import InvalidInput
from holdfast.prove.runtime.proof import Profile, Proof
from holdfast.prove.verdict import Finding, inconclusive

ALL = "all"
PROFILES: tuple[str, ...] = (*get_args(Profile), ALL)
SKIPPED = "--skip names it"


@dataclass(frozen=True, slots=True)
class Selection:
    """The proofs to try, in order, and those that are left out, with the reason."""

    proofs: tuple[Proof, ...]
    left_out: tuple[tuple[Proof, Finding], ...] = ()


def select(
    proofs: dict[str, Proof],
    only: Collection[str] = (),
    *,
    profiles: Sequence[str] = (ALL,),
    skip: Collection[str] = (),
    always: Collection[str] = (),
) -> Selection:
    """The proofs that are named, or those of the profiles and `always`, without those to skip.

    What a proof needs comes with it, and goes with it. InvalidInput if a name or a profile is not known.
    """
    _check(proofs, only, profiles, skip)
    wanted = set(only) or {name for name, proof in proofs.items() if name in always or _in(proof, profiles)}
    for _ in proofs:
        wanted |= {need for name in wanted for need in proofs[name].needs if need in proofs}
    reasons: dict[str, Finding] = {}
    for name, proof in proofs.items():
        if name in skip and (name in wanted or not only):
            reasons[name] = inconclusive(SKIPPED, hint="leave out --skip")
        elif name not in wanted and not only:
            reasons[name] = _not_in(profiles)
        elif name in wanted and (lacking := [need for need in proof.needs if need in reasons]):
            reasons[name] = inconclusive(f"needs {lacking[0]}, which is left out", hint=f"do not skip {lacking[0]}")
    tried = tuple(proof for name, proof in proofs.items() if name in wanted and name not in reasons)
    if not tried:
        raise InvalidInput("nothing is left to prove", hint="see --profile, --only and --skip")
    return Selection(tried, tuple((proofs[name], reason) for name, reason in reasons.items()))


def _check(proofs: Collection[str], only: Collection[str], profiles: Sequence[str], skip: Collection[str]) -> None:
    unknown = sorted({*only, *skip} - set(proofs))
    if unknown:
        raise InvalidInput(f"there is no proof named {', '.join(unknown)}", hint=f"one or more of {', '.join(proofs)}")
    strange = [profile for profile in profiles if profile not in PROFILES]
    if strange:
        raise InvalidInput(f"there is no profile {', '.join(strange)}", hint=f"one or more of {', '.join(PROFILES)}")
    both = sorted(set(only) & set(skip))
    if both:
        raise InvalidInput(f"--only and --skip both name {', '.join(both)}", hint="decide for one of them")


def _in(proof: Proof, profiles: Sequence[str]) -> bool:
    return ALL in profiles or proof.profile in profiles


def _not_in(profiles: Sequence[str]) -> Finding:
    named = " and ".join(profiles)
    return inconclusive(f"not in the profile {named}", hint="see --profile")
