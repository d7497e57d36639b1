"""What happens before a turn asks its model: the task gets its definition of done and its route, and both are kept."""

from collections.abc import Callable
from itertools import takewhile

from holdfast.core.clock import SystemClock, to_iso
from holdfast.models.messages import PromptMessage, PromptRole
from holdfast.runtime.conversation import (
    ConversationSession,
    PromptSnapshot,
    WorkflowTimelineEntry,
)
from holdfast.runtime.permissions import PermissionRules
from holdfast.runtime.project.session_effects import answer_cut_calls
from holdfast.runtime.project.system_prompt import Section, text_of
from holdfast.runtime.sentences import sentences
from holdfast.runtime.turn.phases import PREPARE
from holdfast.runtime.workflow import ledger
from holdfast.runtime.workflow.definition_of_done import IN_PROGRESS, KeptDefinition, open_definition
from holdfast.runtime.workflow.router import CLARIFY, EXECUTE, PLAN, VERIFY, TaskRoute, route

REQUESTED = "requested"
"""How a mode was chosen that somebody asked for; it stays until they ask for another."""
MAX_ITEM = 200


def prepare(
    session: ConversationSession,
    task: str,
    *,
    rules: PermissionRules,
    prompts: bool,
    prompt_format: str,
    sections: Callable[[], list[Section]],
) -> KeptDefinition:
    """Keep the task and how it is to be worked on, in one write; its definition of done. Blocks."""
    with session.together():
        answer_cut_calls(session)
        kept, resumes = open_definition(session.project_root, task, session.session_id)
        _begin(kept, task)
        asked_for, clarified = _requested(session), _clarifying_turns(session)
        chosen = route(task, requested=asked_for, resumes=resumes, clarifying_turns=clarified)
        _keep_route(session, task, chosen, kept)
        session.update_runtime_state(
            permission_prompting_enabled=prompts,
            permission_rule_counts=rules.counts,
            permission_rules_source=rules.source,
        )
        session.append(PromptMessage(PromptRole.USER, task))
        told = sections()
        session.update_runtime_state(prompt_format=prompt_format, prompt_sections=[name for name, _ in told])
        session.append_workflow_timeline_entry(_entry(session, chosen, kept))
        session.append_prompt_snapshot(_snapshot(session, text_of(told)))
        session.update_workflow_ledger(
            ledger.begun(
                kept.definition,
                chosen,
                session.workflow_ledger,
                resumes=resumes,
                permission_mode=session.permission_mode,
                rule_counts=rules.counts,
            )
        )
        return kept


def _keep_route(session: ConversationSession, task: str, chosen: TaskRoute, kept: KeptDefinition) -> None:
    session.update_runtime_state(
        current_task=task,
        active_dod_path=str(kept.path),
        workflow_mode=chosen.mode,
        workflow_reason_code=chosen.reason_code,
        workflow_reason_summary=chosen.summary,
        workflow_decision_kind=chosen.decision_kind,
        workflow_ambiguity_score=chosen.scores.ambiguity,
        workflow_complexity_score=chosen.scores.complexity,
        workflow_scheduled_next_mode=chosen.scheduled_next_mode,
        last_completion_decision_code=None,
        last_completion_decision_summary=None,
        last_turn_transition_summary=None,
        last_turn_transition_kind=None,
        last_turn_transition_reason_code=None,
        active_turn_phase=PREPARE,
    )


def settle_mode(session: ConversationSession) -> None:
    """After a turn: a mode that the router chose for it is over, but for a question that waits for its answer."""
    if session.workflow_decision_kind != REQUESTED and session.workflow_mode in {PLAN, VERIFY}:
        before = session.workflow_mode
        session.update_runtime_state(workflow_mode=EXECUTE)
        session.append_workflow_timeline_entry(
            WorkflowTimelineEntry(
                timestamp=to_iso(SystemClock().now()),
                kind="handoff",
                mode=EXECUTE,
                reason_code=f"{before}_over",
                summary=f"the turn in {before} is over",
                decision_kind="handoff",
            )
        )


def _begin(kept: KeptDefinition, task: str) -> None:
    definition = kept.definition
    definition.status = IN_PROGRESS
    if not definition.acceptance_criteria:
        asked = " ".join(task.split())
        definition.acceptance_criteria = [asked if len(asked) <= MAX_ITEM else f"{asked[:MAX_ITEM]}…"]
        definition.pending_items = list(definition.acceptance_criteria)
    kept.save()


def _requested(session: ConversationSession) -> str | None:
    """The mode that was asked for, if one was."""
    return session.workflow_mode if session.workflow_decision_kind == REQUESTED else None


def _clarifying_turns(session: ConversationSession) -> int | None:
    """How many turns before this one were spent on clarification; None if the last one was not."""
    if session.workflow_mode != CLARIFY:
        return None
    routes = [entry for entry in session.workflow_timeline if entry.kind in {"route", "clarify_continue"}]
    return len(list(takewhile(lambda entry: entry.mode == CLARIFY, reversed(routes)))) or None


def _entry(session: ConversationSession, chosen: TaskRoute, kept: KeptDefinition) -> WorkflowTimelineEntry:
    return WorkflowTimelineEntry(
        timestamp=to_iso(SystemClock().now()),
        kind=chosen.kind,
        mode=chosen.mode,
        reason_code=chosen.reason_code,
        summary=chosen.summary,
        decision_kind=chosen.decision_kind,
        route_score=chosen.score,
        runner_up_mode=chosen.runner_up_mode,
        runner_up_score=chosen.runner_up_score,
        scheduled_next_mode=chosen.scheduled_next_mode,
        unresolved_questions=_unresolved(session, chosen),
        signal_summary=list(chosen.scores.signals),
        prompt_format=session.prompt_format,
        prompt_sections=list(session.prompt_sections),
        artifact_paths=[str(kept.path)],
    )


def _unresolved(session: ConversationSession, chosen: TaskRoute) -> list[str]:
    """What the agent asked back last, if the route says that the answer left it open."""
    if chosen.kind != "clarify_continue" and chosen.decision_kind != "forced":
        return []
    said = (message.text for message in reversed(session.messages) if message.role is PromptRole.ASSISTANT)
    return [asked[:MAX_ITEM] for asked in sentences(next(said, "")) if asked.endswith("?")]


def _snapshot(session: ConversationSession, content: str) -> PromptSnapshot:
    return PromptSnapshot(
        timestamp=to_iso(SystemClock().now()),
        workflow_mode=session.workflow_mode,
        permission_mode=session.permission_mode,
        current_task=session.current_task,
        prompt_format=session.prompt_format,
        prompt_sections=list(session.prompt_sections),
        content=content,
    )
