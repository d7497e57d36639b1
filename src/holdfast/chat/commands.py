"""The commands of a chat: `/name` and what follows it. Each is a function over the conversation that gives lines.

A line that begins with two slashes is a message that begins with one, and so is a path such as /etc/hosts.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.chat.conversation import ChatConversation
from holdfast.chat.transcript import as_json, as_markdown, write_new
from holdfast.core.errors import InvalidInput
from holdfast.core.nearest import did_you_mean
from holdfast.terminal.screen import width
from holdfast.terminal.table import cut_table, folded_table
from holdfast.terminal.text import fold, one_line

KEYS = "Enter sends; Alt-Enter, or a backslash before Enter, begins a line. Ctrl-C stops a turn, Ctrl-D ends."
SETTLED = re.compile(r"(\d{1,4})\s+(ran|failed)")
SPELLING = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.S)


class ChatOver(Exception):
    """The user wants to leave."""


Run = Callable[[ChatConversation, str], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command: what may follow it, what it does, and the function that does it."""

    name: str
    argument: str
    summary: str
    run: Run


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command that was typed, and what followed it."""

    command: ChatCommand
    argument: str


def parse(line: str) -> CommandCall | str:
    """The command on a line, or the message that it is; InvalidInput if there is no such command."""
    text = line.strip()
    if text.startswith("//"):
        return text[1:]
    found = SPELLING.fullmatch(text)
    if found is None:
        return text
    command = COMMANDS.get(found[1])
    if command is None:
        raise InvalidInput(f"there is no command /{found[1]}", hint=did_you_mean(found[1], COMMANDS))
    argument = (found[2] or "").strip()
    if argument and not command.argument:
        raise InvalidInput(f"/{command.name} takes nothing after it", hint="two slashes begin a message with a slash")
    return CommandCall(command, argument)


async def _sessions(conversation: ChatConversation, argument: str) -> list[str]:
    entries = await conversation.entries()
    if not entries:
        return ["no conversation yet"]
    rows = [("→" if each.name == conversation.name else "", each.name, each.updated_at, each.about) for each in entries]
    return cut_table(("", "conversation", "changed", "about"), rows, width() - 1, whole=("conversation",))


async def _resume(conversation: ChatConversation, argument: str) -> list[str]:
    note = await conversation.resume(argument or "last")
    return [*_folded(f"this is {conversation.name}"), *_noted(note), *await _last_words(conversation)]


async def _new(conversation: ChatConversation, argument: str) -> list[str]:
    await conversation.renew()
    return _folded(f"this is {conversation.name}, a new conversation")


async def _fork(conversation: ChatConversation, argument: str) -> list[str]:
    before = argument or conversation.name
    note = await conversation.fork(argument or None)
    return [*_folded(f"this is {conversation.name}, a copy; {before} stays as it is"), *_noted(note)]


async def _compact(conversation: ChatConversation, argument: str) -> list[str]:
    return _folded(await conversation.compact() or "there is nothing to sum up yet")


async def _undo(conversation: ChatConversation, argument: str) -> list[str]:
    taken = await conversation.undo()
    if taken is None:
        return ["there is nothing to take back"]
    return [*_folded(f"taken back: {taken}"), *_folded("What tools have changed stays changed.")]


async def _settle(conversation: ChatConversation, argument: str) -> list[str]:
    if not argument:
        return await _unresolved(conversation)
    found = SETTLED.fullmatch(argument)
    if found is None:
        raise InvalidInput("say which one, and whether it ran", hint="/settle 1 ran, or /settle 1 failed")
    settled = await conversation.settle(int(found[1]), ran=found[2] == "ran")
    return [*_folded(f"settled: {settled}: {found[2]}"), *await _unresolved(conversation)]


async def _unresolved(conversation: ChatConversation) -> list[str]:
    rows = [(str(number), each) for number, each in enumerate(await conversation.unresolved(), 1)]
    if not rows:
        return ["nothing is unresolved"]
    how = "Look whether it ran, then say so: /settle NUMBER ran, or /settle NUMBER failed."
    return [*pairs(rows), *_folded(how)]


async def _usage(conversation: ChatConversation, argument: str) -> list[str]:
    return pairs(await conversation.usage())


async def _tools(conversation: ChatConversation, argument: str) -> list[str]:
    rows = [(each.name, each.need, each.grant, each.description) for each in conversation.tools()]
    return cut_table(("tool", "needs", "now", "what it does"), rows, width() - 1)


async def _mode(conversation: ChatConversation, argument: str) -> list[str]:
    if argument:
        conversation.set_mode(argument)
    return pairs(conversation.modes())


async def _export(conversation: ChatConversation, argument: str) -> list[str]:
    path = Path(argument or f"{re.sub(r'[^A-Za-z0-9._-]', '-', conversation.name)}.md")
    sayings = await conversation.sayings()
    write = as_json if path.suffix == ".json" else as_markdown
    await asyncio.to_thread(write_new, path, write(conversation.name, sayings))
    return _folded(f"{len(sayings)} messages are in {path}")


async def _help(conversation: ChatConversation, argument: str) -> list[str]:
    rows = [(f"/{each.name} {each.argument}".strip(), each.summary) for each in COMMANDS.values()]
    return [*_two_columns(rows), "", *_folded(KEYS)]


async def _quit(conversation: ChatConversation, argument: str) -> list[str]:
    raise ChatOver


COMMANDS = {
    each.name: each
    for each in (
        ChatCommand("sessions", "", "the conversations here, newest first", _sessions),
        ChatCommand("resume", "[NAME|last]", "go on with another conversation", _resume),
        ChatCommand("new", "", "begin a new conversation; this one stays", _new),
        ChatCommand("fork", "[NAME]", "go on with a copy of this conversation, or of another", _fork),
        ChatCommand("compact", "", "sum up the older messages now", _compact),
        ChatCommand("undo", "", "take back the last question and its answer", _undo),
        ChatCommand("settle", "[NUMBER ran|failed]", "say what became of a tool that a dead process began", _settle),
        ChatCommand("usage", "", "what the conversation has cost", _usage),
        ChatCommand("tools", "", "the agent's tools, and what they may do now", _tools),
        ChatCommand("mode", "[MODE]", "the permission and workflow modes, or another one", _mode),
        ChatCommand("export", "[FILE]", "write what was said to a new file, as Markdown or .json", _export),
        ChatCommand("help", "", "this list", _help),
        ChatCommand("quit", "", "leave; the conversation stays", _quit),
    )
}


def pairs(rows: list[tuple[str, str]]) -> list[str]:
    """Names and what they stand for, one below the other, folded to the terminal."""
    return _two_columns([(one_line(name), one_line(value)) for name, value in rows])


def _two_columns(rows: list[tuple[str, str]]) -> list[str]:
    return folded_table(("", ""), rows, width() - 1, sys.stdout)[1:]


def _folded(text: str) -> list[str]:
    """A text in lines that fit the terminal, and cannot drive it."""
    return fold(one_line(text), width() - 1)


def _noted(note: str | None) -> list[str]:
    return _folded(f"note: {note}") if note else []


async def _last_words(conversation: ChatConversation) -> list[str]:
    """The last question and answer, so that one knows where one was."""
    said = [each for each in await conversation.sayings() if each.speaker in {"user", "agent"}]
    return [line for each in said[-2:] for line in _folded(f"{each.speaker}: {each.text}")]
