"""From the options of the command to a conversation that runs: at this terminal, or for one turn of a script."""

import asyncio
import io
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.chat.conversation import ChatConversation
from holdfast.chat.interrupts import ignore_interrupts, until_ended, until_interrupted
from holdfast.chat.model_choice import SIMULATOR, choose_model
from holdfast.chat.one_turn import take_one_turn
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.terminal.text import one_line

if TYPE_CHECKING:
    from holdfast.chat.program import ChatProgram
    from holdfast.runtime.permissions import PermissionQuestion

INTERRUPTED_CODE = 128 + signal.SIGINT


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What the command line says."""

    project: Path
    store: str | None = None
    resume: str | None = None
    model: str = SIMULATOR
    mode: str | None = None
    text: str | None = None
    in_json: bool = False
    trusts_rules: bool = False


def start(options: ChatOptions) -> int:
    """Talk in a project's folder; the exit code."""
    from holdfast.chat.local_conversation import LocalConversation
    from holdfast.chat.trust_question import answer_for_script
    from holdfast.chat.user_files import trust_file
    from holdfast.runtime import AgentConfig, RuntimeHandle
    from holdfast.runtime.permissions import WORKSPACE_WRITE, RuleTrust, check_mode

    if not options.project.is_dir():
        raise NotFound(f"there is no folder {options.project}", hint="name the project's folder with --project")
    chosen = choose_model(options.model)
    config = AgentConfig(
        permission_mode=check_mode(options.mode or WORKSPACE_WRITE),
        storage="store" if options.store else "file",
        store_url=options.store,
    )
    program = None if options.text is not None else at_terminal()
    trust = RuleTrust(trust_file(), options.project)
    if program is None or options.trusts_rules:
        answer_for_script(trust, trusts=options.trusts_rules)
    if program is not None:
        program.ask_about(trust)

    async def ask(question: "PermissionQuestion") -> bool:
        assert program is not None
        return await program.permit(question, agent.project_root, agent.active_permission_mode, trust)

    agent = RuntimeHandle(
        chosen.backend, config, options.project, ask_permission=ask if program else None, read_rules=trust.rules
    )
    return asyncio.run(talk(LocalConversation(agent), options, program, model=chosen.described))


def at_terminal() -> "ChatProgram":
    """The program at this terminal; InvalidInput if there is none."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput("a chat needs a terminal", hint='for scripts: --print "…", or --print - for what stdin says')
    from holdfast.chat.commands import COMMANDS
    from holdfast.chat.editor import LineEditor
    from holdfast.chat.program import ChatProgram
    from holdfast.chat.user_files import history_file

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return ChatProgram(LineEditor(list(COMMANDS), history_file()))


async def talk(
    conversation: ChatConversation, options: ChatOptions, program: "ChatProgram | None", *, model: str | None
) -> int:
    """Take the turns of a conversation, or the one turn of a script; the exit code."""
    if options.resume is not None:
        note = await conversation.resume(options.resume)
        if options.mode is not None:
            conversation.set_mode(options.mode)
        elif note and options.text is not None:
            sys.stderr.write(f"note: {one_line(note)}\n")
    if options.text is not None:
        return await _take_one_turn(conversation, options.text, in_json=options.in_json)
    assert program is not None
    ignore_interrupts()
    await program.greet(__version__, model, conversation)
    return await until_ended(program.run(conversation))


async def _take_one_turn(conversation: ChatConversation, text: str, *, in_json: bool) -> int:
    """The one turn of a script, which a signal ends in order; the exit code."""
    code: int | None = None

    async def take() -> None:
        nonlocal code
        code = await until_interrupted(lambda: take_one_turn(conversation, text, in_json=in_json))

    return await until_ended(take()) or (INTERRUPTED_CODE if code is None else code)


def refuse_local_options(options: ChatOptions) -> None:
    """InvalidInput for what a gateway decides itself."""
    given: dict[str, object] = {"--store": options.store, "--mode": options.mode, "--resume": options.resume}
    given["--model"] = None if options.model == SIMULATOR else options.model
    given["--trust-rules"] = options.trusts_rules or None
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(f"{name} does not go with --key", hint="it is the gateway's; a key names a conversation")
