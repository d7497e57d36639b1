"""The dialogue: a line is read, a command or a turn follows, until the user leaves.

Ctrl-C stops the turn that runs, and never the program. An error is said, and the dialogue goes on.
"""

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path

from holdfast.chat.commands import ChatOver, pairs, parse
from holdfast.chat.conversation import ChatConversation
from holdfast.chat.editor import LineEditor, quiet_keys
from holdfast.chat.interrupts import until_interrupted
from holdfast.chat.permission_question import PermissionDialog
from holdfast.chat.trust_question import TrustDialog
from holdfast.chat.turn_view import TurnView
from holdfast.core.errors import HoldfastError
from holdfast.runtime.permissions import PermissionQuestion, RuleTrust
from holdfast.terminal.screen import styled, width
from holdfast.terminal.text import fold, one_line

HELP = "/help lists the commands, Ctrl-C stops a turn, Ctrl-D ends"
LEAVE = "Ctrl-D or /quit ends; the conversation stays"


class ChatProgram:
    """One person at one terminal."""

    def __init__(self, editor: LineEditor) -> None:
        self._editor = editor
        self._view: TurnView | None = None
        self._rules: TrustDialog | None = None

    def ask_about(self, trust: RuleTrust) -> None:
        """Ask about rules that nobody has trusted yet, before the user speaks."""
        self._rules = TrustDialog(trust, say, self._editor.ask)

    async def greet(self, version: str, model: str | None, conversation: ChatConversation) -> None:
        """Say what this is, and what it runs on."""
        say(styled(f"holdfast {version}", "bold"))
        told = [*([("model", model)] if model else []), *await conversation.about(), ("help", HELP)]
        for line in pairs(told):
            say(styled(line, "dim"))
        say("")

    async def run(self, conversation: ChatConversation) -> None:
        """Talk until the user leaves."""
        while True:
            try:
                if self._rules is not None:
                    await self._rules.ask_once()
                line = await self._editor.read()
            except KeyboardInterrupt:
                say(styled(LEAVE, "dim"))
                continue
            except EOFError:
                return
            if not line.strip():
                continue
            try:
                await self._follow(conversation, line)
            except ChatOver:
                return
            except HoldfastError as error:
                _say_error(error.message, error.hint)
            except OSError as error:
                _say_error(str(error))

    async def permit(self, question: PermissionQuestion, workspace: Path, mode: str, trust: RuleTrust) -> bool:
        """Ask whether a tool may do something; Ctrl-C stops the turn."""
        dialog = PermissionDialog(workspace, mode, trust, say, self._editor.ask)
        async with self._view.pause() if self._view else nullcontext():
            try:
                return await dialog.ask(question)
            except KeyboardInterrupt:
                raise asyncio.CancelledError from None

    async def _follow(self, conversation: ChatConversation, line: str) -> None:
        found = parse(line)
        if isinstance(found, str):
            await self._turn(conversation, found)
            return
        lines = await until_interrupted(lambda: found.command.run(conversation, found.argument))
        for shown in [styled("not waited for: it may be done all the same", "yellow")] if lines is None else lines:
            say(shown)
        say("")

    async def _turn(self, conversation: ChatConversation, text: str) -> None:
        view = self._view = TurnView()
        say("")
        try:
            with quiet_keys():
                async with view.live():
                    answer = await until_interrupted(lambda: conversation.say(text, view.hear))
            if answer is None:
                view.stopped(conversation.kept_when_stopped)
            else:
                view.end(answer)
        finally:
            self._view = None
            say("")


def say(line: str) -> None:
    """Write a line that is fit for the terminal."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _say_error(message: str, hint: str | None = None) -> None:
    _say_folded(f"error: {message}", "red")
    if hint:
        _say_folded(f"hint: {hint}", "dim")
    say("")


def _say_folded(text: str, style: str) -> None:
    for line in fold(one_line(text), width() - 1):
        say(styled(line, style))
