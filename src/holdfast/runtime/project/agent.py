"""An agent in a project's folder: it runs tasks in turns, and what it knows of them survives its process.

All of its state is the conversation's, so that a resumed agent is the agent that was interrupted. Only `run` is a
coroutine.
"""

from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError, TimeOrderedIds
from holdfast.core.errors import Conflict
from holdfast.models.messages import Backend, PromptMessage, PromptRole
from holdfast.runtime.conversation import ConversationSession, ToolEffect, owner_path
from holdfast.runtime.file_tools import FILE_TOOLS
from holdfast.runtime.memory_tools import MEMORY_TOOLS
from holdfast.runtime.permissions import check_mode, load_rules
from holdfast.runtime.project import system_prompt
from holdfast.runtime.project.config import AgentConfig
from holdfast.runtime.project.permission_gate import AskPermission, PermissionGate, ReadRules
from holdfast.runtime.project.preparation import REQUESTED, prepare, settle_mode
from holdfast.runtime.project.session_effects import SessionEffects, settle
from holdfast.runtime.project.turn_log import ProjectTurn
from holdfast.runtime.project.turn_summary import TurnSummary, summary_of_session, usage_in_our_names
from holdfast.runtime.shell_tools import SHELL_TOOLS
from holdfast.runtime.skills import SKILL_TOOLS
from holdfast.runtime.threads import to_its_end
from holdfast.runtime.tools import ToolContext, ToolUse
from holdfast.runtime.turn.loop import ITERATION_LIMIT, TurnEnded, TurnEvent, TurnLoop, TurnSettings
from holdfast.runtime.turn.phases import FINALIZE, RECOVERY, Transition, TurnPhases
from holdfast.runtime.turn.tool_runs import ToolRuns
from holdfast.runtime.workflow.definition_of_done import KeptDefinition
from holdfast.runtime.workflow.router import EXECUTE, check_workflow_mode

NAME = "main"
TOOLS: tuple[type[ToolUse], ...] = (*FILE_TOOLS, *SHELL_TOOLS, *MEMORY_TOOLS, *SKILL_TOOLS)
INTERRUPTED = "interrupted"

Tell = Callable[[TurnEvent], None]


class Agent:
    """Runs tasks in a project's folder with a model and tools."""

    def __init__(
        self,
        backend: Backend,
        config: AgentConfig | None = None,
        project_root: Path | str | None = None,
        *,
        ask_permission: AskPermission | None = None,
        read_rules: ReadRules | None = None,
    ) -> None:
        self.backend = backend
        self.config = config or AgentConfig()
        self.project_root = Path(project_root or ".").absolute()
        self.last_turn_summary: TurnSummary | None = None
        self._ask_permission = ask_permission
        self._read_rules = read_rules or (lambda: load_rules(self.project_root))
        self._steering: list[str] = []
        self._ids = TimeOrderedIds()
        self._runs = False
        self.session = self._new_session(check_mode(self.config.permission_mode))

    @property
    def messages(self) -> list[PromptMessage]:
        """What was said in the conversation."""
        return self.session.messages

    @property
    def current_task(self) -> str | None:
        """The task that is worked on, or was last."""
        return self.session.current_task

    @current_task.setter
    def current_task(self, task: str | None) -> None:
        self._keep("current_task", task)

    _current_task = current_task

    @property
    def prompt_format(self) -> str | None:
        """How the model was asked last: `native` or `react`."""
        return self.session.prompt_format

    @prompt_format.setter
    def prompt_format(self, prompt_format: str | None) -> None:
        self._keep("prompt_format", prompt_format)

    @property
    def prompt_sections(self) -> list[str]:
        """The names of the sections that the model was told last."""
        return self.session.prompt_sections

    @prompt_sections.setter
    def prompt_sections(self, names: list[str]) -> None:
        self._keep("prompt_sections", list(names))

    @property
    def active_permission_mode(self) -> str:
        """What tools may do without being asked about."""
        return self.session.permission_mode

    @property
    def workflow_mode(self) -> str:
        """In which mode the work is: clarify, plan, execute or verify."""
        return self.session.workflow_mode

    @property
    def unresolved_effects(self) -> list[ToolEffect]:
        """The tools that were begun before a process ended: nobody knows whether they ran."""
        return self.session.unresolved_effects()

    def set_workflow_mode(self, mode: str) -> None:
        """Work in this mode; `execute` leaves the choice to the router again."""
        kind = None if check_workflow_mode(mode) == EXECUTE else REQUESTED
        self.session.update_runtime_state(workflow_mode=mode, workflow_decision_kind=kind)

    def set_permission_mode(self, mode: str) -> None:
        """Let tools do what this mode grants."""
        self.session.update_runtime_state(permission_mode=check_mode(mode))

    def settle_effect(self, call_id: str, *, ran: bool) -> None:
        """Say what became of an unresolved effect; from then on it is none, and the model knows."""
        self._check_idle()
        settle(self.session, call_id, ran=ran)

    def queue_steering_message(self, text: str) -> None:
        """Say something to the model before it is asked the next time."""
        self._steering.append(text)

    def drain_steering_messages(self) -> list[str]:
        """What was queued and not said yet; nothing is queued then."""
        taken, self._steering = self._steering, []
        return taken

    def resume_session(self, session_id: str) -> bool:
        """Go on with the conversation of this id; False, and nothing has changed, if there is none."""
        self._check_idle()
        session = ConversationSession.load(
            project_root=self.project_root,
            system_message_factory=self._system_message,
            few_shot_factory=list,
            session_id=session_id,
            storage=self.config.storage,
            store_url=self.config.store_url,
        )
        if session is None:
            return False
        session.update_runtime_state(runtime_owner_type=type(self).__name__)
        self._leave(session)
        self.last_turn_summary = summary_of_session(session)
        return True

    def clear_history(self) -> None:
        """Begin a new conversation; the old one stays where it is kept."""
        self._check_idle()
        session = self._new_session(self.active_permission_mode)
        session.persist()
        self._leave(session)
        self.last_turn_summary = None
        self._steering.clear()

    async def run(self, task: str, *, tell: Tell | None = None) -> str:
        """The answer to a task, with how it was checked; `tell` hears of all that happens meanwhile, as it happens."""
        self._check_idle()
        self._runs = True
        try:
            return await self._turn(task, tell or (lambda event: None))
        finally:
            self._runs = False

    async def _turn(self, task: str, tell: Tell) -> str:
        session, config = self.session, self.config
        kept = await to_its_end(
            lambda: prepare(
                session,
                task,
                rules=self._read_rules(),
                prompts=self._ask_permission is not None,
                prompt_format=self._format,
                sections=self._sections,
            )
        )
        turn = ProjectTurn(session, kept, config.reasoning, self.drain_steering_messages)
        phases = TurnPhases(lambda step: _record_step(session, step))
        options = {"temperature": config.temperature, "max_tokens": config.max_tokens}
        settings = TurnSettings(config.max_iterations, config.stream, self._format == system_prompt.REACT, options)
        loop = TurnLoop(self.backend, turn, self._tool_runs(), settings, phases)
        ended = TurnEnded("", ITERATION_LIMIT)
        try:
            async with aclosing(loop.run()) as events:
                async for event in events:
                    if isinstance(event, str):
                        turn.show(event)
                    elif isinstance(event, TurnEnded):
                        ended = event
                    tell(event)
            await turn.check_if_cut_short(ended.code)

            def close() -> str:
                with session.together():
                    answer = turn.end(ended.content, ended.code)
                    phases.move(FINALIZE, "the turn is over", reason_code=ended.code)
                    self._close(turn, kept, answer, ended.code)
                return answer

            return await to_its_end(close)
        except BaseException as error:
            with suppress(HoldfastError), session.together():
                turn.keep_half_answer()
                words = f"the turn was cut off: {type(error).__name__}"
                phases.move(FINALIZE, words, kind=RECOVERY, reason_code=INTERRUPTED)
                self._close(turn, kept, None, INTERRUPTED)
            raise

    def _close(self, turn: ProjectTurn, kept: KeptDefinition, answer: str | None, code: str) -> None:
        """Keep what the turn cost, and sum it up."""
        session = self.session
        session.record_turn_usage({**turn.used, "tool_calls": turn.tool_calls, "iterations": turn.iterations})
        settle_mode(session)
        self.last_turn_summary = TurnSummary(
            definition_of_done=kept.definition,
            usage=usage_in_our_names(dict(turn.used)),
            cumulative_usage=dict(session.usage_totals),
            final_response=answer,
            decision_code=code,
            decision_summary=session.last_completion_decision_summary,
            tool_calls=turn.tool_calls,
            iterations=turn.iterations,
        )

    def _tool_runs(self) -> ToolRuns:
        session, root = self.session, self.project_root
        gate = PermissionGate(root, lambda: session.permission_mode, self._ask_permission, self._read_rules)
        return ToolRuns(
            TOOLS,
            workspace=root,
            context=lambda call_id: ToolContext(root, session.memories, NAME, session.session_id, call_id),
            effects=SessionEffects(session, self._ids()),
            permit=gate.permit,
        )

    @property
    def _format(self) -> str:
        """How the model is asked: by its own tool calls if it has them."""
        return system_prompt.NATIVE if self.backend.supports_native_tools else system_prompt.REACT

    def _sections(self) -> list[system_prompt.Section]:
        declared = [tool.declaration for tool in TOOLS]
        return system_prompt.sections(
            self.session, declared, prompt_format=self._format, auto_context=self.config.auto_context
        )

    def _system_message(self) -> PromptMessage:
        return PromptMessage(PromptRole.SYSTEM, system_prompt.text_of(self._sections()))

    def _new_session(self, permission_mode: str) -> ConversationSession:
        owner = type(self).__name__
        return ConversationSession(
            system_message_factory=self._system_message,
            few_shot_factory=list,
            project_root=self.project_root,
            permission_mode=permission_mode,
            permission_prompting_enabled=self._ask_permission is not None,
            runtime_owner_type=owner,
            runtime_owner_path=owner_path(owner),
            storage=self.config.storage,
            store_url=self.config.store_url,
        )

    def _keep(self, name: str, value: Any) -> None:
        """Set a field of the conversation, also to nothing, and keep it."""
        before = getattr(self.session, name)
        setattr(self.session, name, value)
        try:
            self.session.persist()
        except BaseException:
            setattr(self.session, name, before)
            raise

    def _check_idle(self) -> None:
        """Conflict while a turn runs."""
        if self._runs:
            raise Conflict("this agent runs a turn", hint="wait for its end, or queue a steering message")

    def _leave(self, session: ConversationSession) -> None:
        """Go on with another conversation; the one before is free for others."""
        before, self.session = self.session, session
        before.release()


class RuntimeHandle(Agent):
    """The agent that a host program owns."""


def _record_step(session: ConversationSession, step: Transition) -> None:
    """Note where the turn is; whoever moved it stores that."""
    session.last_turn_transition_summary = step.summary
    session.last_turn_transition_kind = step.kind
    session.last_turn_transition_reason_code = step.reason_code
    session.active_turn_phase = None if step.target == FINALIZE else step.target
