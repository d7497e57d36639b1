"""Runs of proofs, on the wire: what is posted of one, and what a list shows of many."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from holdfast.gateway.wire.types import TEXT, Document, Moment, Time

MOST_RESULTS = 1_000
LONGEST_NAME = 200

ProofKind = Literal["runtime", "store", "explore", "live"]
RunVerdict = Literal["proven", "disproven", "inconclusive", "fault"]
OutcomeVerdict = Literal["proven", "disproven", "inconclusive", "not reached", "not offered"]
ResultVerdict = Literal["proven", "disproven", "inconclusive", "not reached", "not offered", "fault"]
ProofName = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, extra_json_schema=TEXT)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]


class ProofOutcome(Struct):
    """What a run found of one claim, and on what grounds. Other members are kept."""

    name: ProofName
    verdict: OutcomeVerdict
    claim: str = ""
    reason: str = ""
    expected: str = ""
    got: str = ""
    curl: str = ""
    hint: str = ""
    remedy: str = ""
    see: str = ""
    fault: bool = False
    seconds: Seconds = 0


class ProofTarget(Struct):
    """What was put to the proof."""

    name: Annotated[str, Meta(max_length=2_000)] = ""


Outcomes = Annotated[list[ProofOutcome], Meta(max_length=MOST_RESULTS)]


class ProofSummary(Struct):
    """The `summary.json` of a run of `holdfast prove`, of any kind; it is kept byte for byte, other members too. A run
    against a store has `clauses`, every other has `proofs`."""

    format: Literal[1]
    verdict: RunVerdict
    started_at: Moment
    seconds: Seconds
    target: ProofTarget | UnsetType = UNSET
    store: Annotated[str, Meta(max_length=2_000)] | UnsetType = UNSET
    prerequisites: Outcomes | UnsetType = UNSET
    proofs: Outcomes | UnsetType = UNSET
    clauses: Outcomes | UnsetType = UNSET
    left_out: dict[str, str] | UnsetType = UNSET
    explored: Document | UnsetType = UNSET
    session_key: str | UnsetType = UNSET


class ProofPosted(Struct, rename="camel"):
    """The id of a run that is kept."""

    proof_id: str


class ProofCounts(Struct, rename="camel"):
    """How many claims came to which verdict; what is left out was not tried, or is not offered."""

    proven: int
    disproven: int
    inconclusive: int
    not_reached: int
    left_out: int
    fault: int


class ProofResult(Struct):
    """One claim of a run."""

    name: str
    verdict: ResultVerdict


class ProofView(Struct, rename="camel"):
    """A run in a list."""

    proof_id: str
    source: Literal["posted", "folder"]
    kind: ProofKind
    target: str
    verdict: RunVerdict
    started_at: Time
    seconds: float
    counts: ProofCounts
    results: list[ProofResult]


class ProofList(Struct):
    """One page of runs, the last begun first; `cursor` asks for the next, null at the end."""

    proofs: list[ProofView]
    cursor: str | None
