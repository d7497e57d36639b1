"""The question whether a tool may do something: what exactly it would do, and what an `always` would allow.

Everything is shown with its control characters escaped, because every character counts. `always` is offered only if the
rule that it writes would have answered this question.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from holdfast.chat.markdown.spans import as_text, chop
from holdfast.chat.tool_words import FIRST, exactly
from holdfast.core.errors import HoldfastError
from holdfast.runtime.permissions import PermissionQuestion, PermissionRule, RuleTrust, decide
from holdfast.runtime.permissions.rule_file import RULES_FILE
from holdfast.runtime.tools import PATHS
from holdfast.runtime.workspace import place_in
from holdfast.terminal.screen import styled, width
from holdfast.terminal.text import escaped, fold

MOST_LINES = 30
MOST_NAMED = 3
MOST_WALKED = 5_000
"""Files that are looked at to say what else a rule is about."""
STYLES = {"+": "green", "-": "red", "$": "bold"}

Say = Callable[[str], None]
AskLine = Callable[[str], Awaitable[str]]
"""Shows a prompt and gives the line that was typed; EOFError if there is none to come."""


class PermissionDialog:
    """Asks the person at the terminal."""

    def __init__(self, workspace: Path, mode: str, trust: RuleTrust, say: Say, ask_line: AskLine) -> None:
        self._workspace = workspace
        self._mode = mode
        self._trust = trust
        self._say = say
        self._ask_line = ask_line

    async def ask(self, question: PermissionQuestion) -> bool:
        """Whether the call may run; a rule is written if it always may."""
        lines = await asyncio.to_thread(exactly, question.tool, question.arguments, self._workspace)
        rule = await asyncio.to_thread(self._useful_rule, question)
        for line in fold(escaped(f"May {question.tool} do this? {question.reason}."), width() - 1):
            self._say(styled(line, "bold yellow"))
        self._show(lines[:MOST_LINES])
        more = len(lines) - MOST_LINES
        if more > 0:
            self._say(styled(f"    … and {more} more lines: `view` shows all of it", "dim"))
        if rule is not None:
            others = await asyncio.to_thread(other_files, rule, self._workspace)
            told = f"`always` would write the rule: allow {in_words(rule)}{in_list(others)}"
            for line in fold(told, max(width() - 5, 2)):
                self._say(styled(f"    {line}", "dim"))
        choices = ["yes", "no", *(["always"] if rule else []), *(["view"] if more > 0 else [])]
        while True:
            chosen = await chosen_of(choices, self._ask_line)
            if chosen == "view":
                self._show(lines)
            elif chosen == "always" and rule is not None:
                return await self._keep(rule)
            else:
                return chosen == "yes"

    async def _keep(self, rule: PermissionRule) -> bool:
        try:
            await asyncio.to_thread(self._trust.allow, rule)
        except (HoldfastError, OSError) as error:
            self._say(styled(f"the rule could not be written, so this is allowed once: {escaped(str(error))}", "red"))
        else:
            self._say(styled(f"written to {RULES_FILE}", "dim"))
        return True

    def _show(self, lines: list[str]) -> None:
        for line in lines:
            for piece in chop(escaped(line), STYLES.get(line[:1], ""), max(width() - 5, 2)):
                self._say(f"    {as_text(piece, sys.stdout)}")

    def _useful_rule(self, question: PermissionQuestion) -> PermissionRule | None:
        """The rule of an `always`; None if this would be asked, or refused, all the same. Blocks."""
        rule = rule_for(question, self._workspace)
        if self._trust.strange_rules() is not None:
            return None
        rules = self._trust.rules()
        found = decide(
            question.tool,
            question.arguments,
            need=question.need,
            mode=self._mode,
            rules=replace(rules, allow=(*rules.allow, rule)),
            workspace=self._workspace,
        )
        return rule if found.outcome == "allow" else None


async def chosen_of(choices: list[str], ask_line: AskLine, prompt: str = "") -> str:
    """What the person chose; no answer is a no."""
    while True:
        try:
            typed = (await ask_line(f"{prompt}{' / '.join(choices)}? ")).strip().lower()
        except EOFError:
            return "no"
        found = [each for each in choices if typed and each.startswith(typed)]
        if found:
            return found[0]


def rule_for(question: PermissionQuestion, workspace: Path) -> PermissionRule:
    """The narrowest rule that allows this call: its tool, and its file, its command or what else it is about."""
    for name in PATHS:
        if isinstance(path := question.arguments.get(name), str):
            return PermissionRule(question.tool, path_contains=place_in(workspace, path))
    texts = {name: value for name, value in question.arguments.items() if isinstance(value, str) and value.strip()}
    telling = [texts[name] for name in FIRST if name in texts] or sorted(texts.values(), key=len, reverse=True)
    return PermissionRule(question.tool, contains=next(iter(telling), None))


def in_words(rule: PermissionRule) -> str:
    """What a rule allows, with how far it goes."""
    tool = "every tool" if rule.tool is None else rule.tool
    limits = []
    if rule.path_contains is not None:
        limits.append(f"every path with {rule.path_contains!r} in it")
    if rule.contains is not None:
        what = "command" if rule.tool == "bash" else "call"
        limits.append(f"every {what} with {rule.contains!r} in it, whatever else is in it")
    return escaped(f"{tool} for {' and '.join(limits) or 'whatever it is asked'}")


def other_files(rule: PermissionRule, workspace: Path) -> list[str]:
    """Files of the project that a rule for one of them is about as well, some of them. Blocks."""
    wanted = rule.path_contains
    if wanted is None:
        return []
    files = (Path(at, name) for at, _, names in os.walk(workspace) for name in names)
    places = (file.relative_to(workspace).as_posix() for file in islice(files, MOST_WALKED))
    return list(islice((place for place in places if wanted in place and place != wanted), MOST_NAMED + 1))


def in_list(others: list[str]) -> str:
    """Other files that a rule is about, in words."""
    if not others:
        return ""
    more = " and more" if len(others) > MOST_NAMED else ""
    return escaped(f"; here also {', '.join(others[:MOST_NAMED])}{more}")
