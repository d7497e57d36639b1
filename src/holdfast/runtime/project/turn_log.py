"""One turn in a project: its messages go to the conversation, and its definition of done says when it is over.

Every step is kept before the next one is taken, in a thread: other work of the program goes on meanwhile. Why the turn
went on or ended is in the conversation's timeline.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from holdfast.core.clock import SystemClock, to_iso
from holdfast.models.messages import INTERRUPTED_MARK, CompletionResponse, PromptMessage, PromptRole, ToolCall
from holdfast.runtime.conversation import (
    ConversationSession,
    EvidenceProvenance,
    WorkflowLedger,
    WorkflowTimelineEntry,
)
from holdfast.runtime.project.config import ReasoningConfig
from holdfast.runtime.threads import to_its_end
from holdfast.runtime.turn.loop import ITERATION_LIMIT, UNREADABLE, Review
from holdfast.runtime.turn.phases import COMPLETION, CRITIQUE, REROUTE, RETRY
from holdfast.runtime.turn.tool_runs import REFUSED, ToolResult
from holdfast.runtime.workflow import ledger
from holdfast.runtime.workflow.completion import (
    CONTINUATIONS_USED_UP,
    CONTINUE,
    NO_PROGRESS,
    STOP,
    AnswerFacts,
    Judgement,
    judge,
)
from holdfast.runtime.workflow.definition_of_done import (
    DONE,
    FAILED,
    FIXING,
    VERIFYING,
    DefinitionOfDone,
    KeptDefinition,
)
from holdfast.runtime.workflow.plan import steps_in
from holdfast.runtime.workflow.router import CLARIFY, PLAN
from holdfast.runtime.workflow.verification import check, commands_for, report

CUT_SHORT = {
    ITERATION_LIMIT: "the model was asked as often as it may be",
    UNREADABLE: "the model's calls could not be read",
}
"""Why a turn ends without an answer that was judged."""
GIVEN_UP = frozenset({ITERATION_LIMIT, UNREADABLE, NO_PROGRESS, CONTINUATIONS_USED_UP})


class ProjectTurn:
    """The turn that runs now, between the loop and what is kept."""

    def __init__(
        self,
        session: ConversationSession,
        kept: KeptDefinition,
        reasoning: ReasoningConfig,
        take_steering: Callable[[], list[str]],
    ) -> None:
        self.used: Counter[str] = Counter()
        self.tool_calls = 0
        self.iterations = 0
        self._session = session
        self._kept = kept
        self._reasoning = reasoning
        self._take_steering = take_steering
        self._changed = False
        self._continuations = 0
        self._sent_back = ""
        self._shown = ""

    async def prompt(self) -> list[PromptMessage]:
        """All that the model is asked next, with what the user has said meanwhile."""
        session, steering = self._session, self._take_steering()

        def settle() -> None:
            if steering:
                with session.together():
                    session.extend(PromptMessage(PromptRole.USER, text) for text in steering)
                    session.update_workflow_ledger(ledger.steered(session.workflow_ledger, steering))
            session.maybe_compact()

        await to_its_end(settle)
        return session.prompt()

    async def add(self, message: PromptMessage) -> None:
        """Keep a message."""

        def keep() -> None:
            with self._session.together():
                self._session.append(message)
                if message.role == PromptRole.ASSISTANT and self._session.workflow_mode == PLAN:
                    self._refresh_plan(steps_in(message.text))
            self._shown = ""

        await to_its_end(keep)

    async def moved(self) -> None:
        """Keep in which phase the turn is."""
        await to_its_end(self._session.persist)

    def show(self, piece: str) -> None:
        """Note a piece of an answer that somebody has seen, and that is not kept yet."""
        self._shown += piece

    def keep_half_answer(self) -> None:
        """Keep what was seen of an answer that does not come to its end, and that it was interrupted."""
        if self._shown.strip():
            self._session.append(PromptMessage(PromptRole.ASSISTANT, f"{self._shown.strip()}\n\n{INTERRUPTED_MARK}"))

    async def count(self, answer: CompletionResponse) -> None:
        """Count what an answer cost; it is kept at the end of the turn."""
        self.iterations += 1
        self.used.update({name: count for name, count in answer.usage.items() if isinstance(count, int)})

    async def ran(self, call: ToolCall, result: ToolResult) -> None:
        """Note a file that was changed: it is to be checked; and what was refused."""
        self.tool_calls += 1
        before = self._session.workflow_ledger
        if result.changed is not None:
            self._changed = True
            self._kept.definition.touch(result.changed)
            await to_its_end(self._kept.save)
            await self._keep_ledger(ledger.touched(before))
        elif result.status == REFUSED:
            await self._keep_ledger(ledger.refused(before, f"{call.name}: {result.text}"))

    async def review(self, content: str) -> Review:
        """Check what was changed, and whether the answer finishes the task."""
        definition = self._kept.definition
        await self._verify()

        def review() -> Review:
            with self._session.together():
                return self._reviewed(content, definition)

        return await to_its_end(review)

    def _reviewed(self, content: str, definition: DefinitionOfDone) -> Review:
        if not definition.evidence:
            self.note("verify_skip", "nothing_changed", "nothing was changed that could be checked")
        found = judge(
            AnswerFacts(
                content=content,
                checked=self._reasoning.completion_check,
                changed=self._changed,
                evidence=definition.evidence,
                continuations_left=self._reasoning.max_continuation_prompts - self._continuations,
                fixes_left=definition.retry_budget - definition.retry_count,
                repeated=bool(content.strip()) and content == self._sent_back,
            )
        )
        self._record(found)
        fails = found.stage == "verification"
        if found.outcome != CONTINUE:
            return Review(found.code, found.summary)
        self._continuations += 1
        self._sent_back = content
        if fails:
            definition.retry_count += 1
            definition.status = FIXING
            self._kept.save()
        phase, kind = (COMPLETION, RETRY) if fails else (CRITIQUE, REROUTE)
        return Review(found.code, found.summary, found.request, phase, kind)

    async def check_if_cut_short(self, code: str) -> None:
        """Check what was changed if no answer was judged."""
        if code in CUT_SHORT:
            await self._verify()

    def end(self, content: str, code: str) -> str:
        """Finish the definition of done, unless its task is not; the answer with how it was checked."""
        definition = self._kept.definition
        if code in CUT_SHORT:
            self._record(Judgement(STOP, "policy", code, CUT_SHORT[code]))
        passed = code not in GIVEN_UP and all(found["passed"] for found in definition.evidence)
        if code != ITERATION_LIMIT and self._session.workflow_mode != CLARIFY:
            definition.status = DONE if passed else FAILED
        if definition.status == DONE:
            definition.completed_items += definition.pending_items
            definition.pending_items = []
        self._kept.save()
        self._session.update_workflow_ledger(ledger.ended(self._session.workflow_ledger, definition))
        checks = report(definition.evidence)
        return f"{content}\n\n{checks}" if content.strip() else checks

    async def _keep_ledger(self, found: WorkflowLedger) -> None:
        if found != self._session.workflow_ledger:
            await to_its_end(lambda: self._session.update_workflow_ledger(found))

    def _refresh_plan(self, steps: list[str]) -> None:
        """What is to be done is now what the plan says, if there is one and it is not the plan of before."""
        definition = self._kept.definition
        items = [*definition.acceptance_criteria, *steps]
        if not steps or items == definition.pending_items:
            return
        code = "plan_changed" if len(definition.pending_items) > len(definition.acceptance_criteria) else "plan_stated"
        definition.pending_items = items
        self._kept.save()
        self.note("plan_refresh", code, f"the plan has {len(steps)} steps")

    async def _verify(self) -> None:
        """Check what the task has changed; the evidence is that of now."""
        definition = self._kept.definition
        definition.verification_commands = commands_for(definition.touched_files)
        if not definition.verification_commands:
            definition.evidence = []
            return
        definition.status = VERIFYING
        definition.evidence = [
            await asyncio.to_thread(check, self._session.project_root, command)
            for command in definition.verification_commands
        ]
        await to_its_end(self._kept.save)

    def _record(self, found: Judgement) -> None:
        """Put a decision about an answer into the timeline: what was looked at, and what follows."""
        evidence = [
            EvidenceProvenance(
                category="verification",
                source=each["command"],
                summary="passed" if each["passed"] else each["output"],
                status="supports" if each["passed"] else "contradicts",
            )
            for each in self._kept.definition.evidence
        ]
        shared: dict[str, Any] = {
            "policy_stage": found.stage,
            "evidence_summary": [f"{each.source}: {each.summary}" for each in evidence],
            "evidence_provenance": evidence,
        }
        kind = "completion_continue" if found.outcome == CONTINUE else "completion_finalize"
        words = f"completion: {found.summary}"
        self.note("completion_check", found.code, words, policy_outcome="checked", **shared)
        self.note(kind, found.code, words, policy_outcome=found.outcome, **shared)
        self._session.update_runtime_state(
            last_completion_decision_code=found.code, last_completion_decision_summary=found.summary
        )

    def note(self, kind: str, code: str, summary: str, **more: Any) -> None:
        """Add an entry to the conversation's timeline."""
        session = self._session
        session.append_workflow_timeline_entry(
            WorkflowTimelineEntry(
                timestamp=to_iso(SystemClock().now()),
                kind=kind,
                mode=session.workflow_mode,
                reason_code=code,
                summary=summary,
                prompt_format=session.prompt_format,
                prompt_sections=list(session.prompt_sections),
                artifact_paths=[str(self._kept.path)],
                **more,
            )
        )
