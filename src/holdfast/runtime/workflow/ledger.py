"""The ledger of a turn: what the work rests on, what it is measured by, and what it must not decide alone.

An item is open until the work touches it, and active then, or as long as it is in force. It is tracked once it was seen
to hold, contradicted by a check that failed, changed by what the user says meanwhile, and reopened with work that goes
on. Each of these functions gives a new ledger.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from holdfast.runtime.conversation import WorkflowLedger, WorkflowLedgerItem
from holdfast.runtime.permissions.modes import ALLOW, DANGER_FULL_ACCESS
from holdfast.runtime.turn.phases import ASSISTANT, FINALIZE, PREPARE, TOOLS
from holdfast.runtime.workflow.definition_of_done import DONE, DefinitionOfDone
from holdfast.runtime.workflow.router import CLARIFY, TaskRoute

OPEN = "open"
ACTIVE = "active"
TRACKED = "tracked"
CONTRADICTED = "contradicted"
CHANGED = "changed"
REOPENED = "reopened"

LEFT_OPEN = ("vague words", "open choices")
"""The signals of a request that leaves something to whoever carries it out."""
MAX_EVIDENCE = 200

Change = Callable[[WorkflowLedgerItem], WorkflowLedgerItem]


def begun(
    definition: DefinitionOfDone,
    chosen: TaskRoute,
    before: WorkflowLedger,
    *,
    resumes: bool,
    permission_mode: str,
    rule_counts: dict[str, int],
) -> WorkflowLedger:
    """The ledger of a turn that begins; `before` is that of the turn before."""
    clarified = chosen.kind in {"clarify_continue", "clarify_exit"}
    status = REOPENED if resumes else CHANGED if clarified else OPEN
    told = [item.text for item in before.acceptance_anchors] if clarified else []
    return WorkflowLedger(
        assumptions=[_item(text, OPEN) for text in _assumptions(definition, chosen, resumes=resumes)],
        acceptance_anchors=[_item(text, status, told) for text in definition.acceptance_criteria],
        decision_boundaries=_boundaries(chosen, before, permission_mode, rule_counts),
    )


def touched(ledger: WorkflowLedger) -> WorkflowLedger:
    """The work has begun to change something: what it is measured by is no longer only open."""

    def change(item: WorkflowLedgerItem) -> WorkflowLedgerItem:
        return replace(item, status=ACTIVE, updated_phase=TOOLS) if item.status in {OPEN, REOPENED} else item

    return replace(ledger, acceptance_anchors=[change(item) for item in ledger.acceptance_anchors])


def steered(ledger: WorkflowLedger, said: Sequence[str]) -> WorkflowLedger:
    """The user has said something meanwhile: the request is not what it was."""
    evidence = [text[:MAX_EVIDENCE] for text in said]

    def change(item: WorkflowLedgerItem) -> WorkflowLedgerItem:
        return replace(item, status=CHANGED, updated_phase=ASSISTANT, evidence=evidence)

    return _with_work(ledger, change)


def refused(ledger: WorkflowLedger, why: str) -> WorkflowLedger:
    """A call met a boundary, which held."""
    return replace(
        ledger,
        decision_boundaries=[
            replace(item, status=TRACKED, updated_phase=TOOLS, evidence=[*item.evidence, why[:MAX_EVIDENCE]])
            for item in ledger.decision_boundaries
        ],
    )


def ended(ledger: WorkflowLedger, definition: DefinitionOfDone) -> WorkflowLedger:
    """The turn is over: the checks say how its items turned out; work that is to go on keeps them as they are."""
    evidence = [f"{found['command']}: exit code {found['exit_code']}" for found in definition.evidence]
    failed = not all(found["passed"] for found in definition.evidence)

    def change(item: WorkflowLedgerItem) -> WorkflowLedgerItem:
        status = item.status
        if definition.is_finished or failed:
            status = TRACKED if definition.status == DONE and not failed else CONTRADICTED
        return replace(item, status=status, updated_phase=FINALIZE, evidence=evidence or item.evidence)

    return _with_work(ledger, change)


def _with_work(ledger: WorkflowLedger, change: Change) -> WorkflowLedger:
    return replace(
        ledger,
        assumptions=[change(item) for item in ledger.assumptions],
        acceptance_anchors=[change(item) for item in ledger.acceptance_anchors],
    )


def _assumptions(definition: DefinitionOfDone, chosen: TaskRoute, *, resumes: bool) -> list[str]:
    """What nobody has said, and the work takes for granted."""
    left_open = [signal for signal in chosen.scores.signals if signal.startswith(LEFT_OPEN)]
    found = []
    if left_open and chosen.mode != CLARIFY:
        found.append(f"the request can be carried out as it is written ({', '.join(left_open)})")
    if resumes and definition.touched_files:
        found.append(f"what was changed before still stands: {', '.join(definition.touched_files)}")
    return found


def _boundaries(
    chosen: TaskRoute, before: WorkflowLedger, permission_mode: str, rule_counts: dict[str, int]
) -> list[WorkflowLedgerItem]:
    """What is the user's to decide, and whether it was another thing in the turn before."""
    texts = []
    if permission_mode not in {ALLOW, DANGER_FULL_ACCESS}:
        texts.append(f"nothing that goes beyond {permission_mode} is done without the user")
    if rule_counts.get("deny") or rule_counts.get("ask"):
        texts.append(f"the project's rules deny {rule_counts['deny']} things and ask about {rule_counts['ask']}")
    if chosen.mode == CLARIFY:
        texts.append("nothing is changed before the user has answered")
    known = [item.text for item in before.decision_boundaries]
    lost = [text for text in known if text not in texts]
    return [_item(text, ACTIVE) if not known or text in known else _item(text, CHANGED, lost) for text in texts]


def _item(text: str, status: str, evidence: Sequence[str] = ()) -> WorkflowLedgerItem:
    return WorkflowLedgerItem(text, status, introduced_phase=PREPARE, evidence=list(evidence))
