"""A run's summary as a list shows it: its kind, its target, and the verdict of each claim."""

from collections import Counter
from typing import Literal

import msgspec

from holdfast.core import strict_json
from holdfast.core.clock import from_iso, to_iso
from holdfast.core.errors import InvalidInput
from holdfast.gateway.api.body import shaped
from holdfast.gateway.wire.proofs import (
    ProofCounts,
    ProofKind,
    ProofOutcome,
    ProofResult,
    ProofSummary,
    ProofView,
    ResultVerdict,
)
from holdfast.store import LAST_MS

NO_TARGET = ""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ProofView).decode


def view_of(raw: bytes, proof_id: str, source: Literal["posted", "folder"]) -> ProofView:
    """What a list shows of a summary; InvalidInput says what is wrong with it."""
    value = strict_json.parse(raw)
    found = shaped(value, ProofSummary, "the summary")
    if (found.proofs is msgspec.UNSET) == (found.clauses is msgspec.UNSET):
        raise InvalidInput("the summary of a run has either proofs or clauses")
    outcomes = [*(found.proofs or ()), *(found.clauses or ())]
    results = [ProofResult(each.name, verdict_of(each)) for each in outcomes]
    told = Counter(each.verdict for each in results)
    left_out = len(found.left_out or ()) + told["not offered"]
    return ProofView(
        proof_id,
        source,
        kind_of(found),
        target_of(found),
        found.verdict,
        to_iso(_moment(found.started_at)),
        found.seconds,
        ProofCounts(
            told["proven"], told["disproven"], told["inconclusive"], told["not reached"], left_out, told["fault"]
        ),
        results,
    )


def kept(view: ProofView) -> bytes:
    """The view as it is kept beside its summary."""
    return _encode(view)


def kept_view(raw: bytes) -> ProofView:
    """The same again."""
    return _decode(raw)


def kind_of(found: ProofSummary) -> ProofKind:
    """Which prover wrote a summary, by the members that only it writes."""
    if found.clauses is not msgspec.UNSET:
        return "store"
    if found.explored is not msgspec.UNSET:
        return "explore"
    return "runtime" if found.session_key is msgspec.UNSET else "live"


def target_of(found: ProofSummary) -> str:
    """What was put to the proof."""
    if found.store is not msgspec.UNSET:
        return found.store
    return NO_TARGET if found.target is msgspec.UNSET else found.target.name


def verdict_of(outcome: ProofOutcome) -> ResultVerdict:
    """The verdict of a claim, where a fault is one of its own."""
    return "fault" if outcome.fault else outcome.verdict


def _moment(text: str) -> int:
    found = from_iso(text)
    if not 0 <= found <= LAST_MS:
        raise InvalidInput(f"a run cannot have begun at {text!r:.80}")
    return found


def begun(view: ProofView) -> int:
    """When a run began, in milliseconds."""
    return from_iso(view.started_at)
