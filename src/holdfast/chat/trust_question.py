"""The question whether the permission rules of a folder are trusted: what they allow is shown, and asked about once.

Whoever says no is asked again by the next chat, or if the rules have changed.
"""

import asyncio
import sys

from holdfast.chat.permission_question import AskLine, Say, chosen_of, in_words
from holdfast.core.errors import HoldfastError
from holdfast.runtime.permissions import RULES_FILE, PermissionRules, RuleTrust
from holdfast.terminal.screen import styled, width
from holdfast.terminal.text import escaped, fold

ASKED = f"{RULES_FILE} of this folder would let the agent do this without a question:"
ELSE = "If you have not written them yourself, say no: what they deny or ask about counts all the same."
NOT_TRUSTED = (
    f"note: what {RULES_FILE} allows does not count, because you have not said that you trust it; --trust-rules does"
)


class TrustDialog:
    """Asks the person at the terminal."""

    def __init__(self, trust: RuleTrust, say: Say, ask_line: AskLine) -> None:
        self._trust = trust
        self._say = say
        self._ask_line = ask_line
        self._refused: str | None = None

    async def ask_once(self) -> None:
        """Ask about rules that allow something, unless that was answered before."""
        rules = await asyncio.to_thread(self._trust.strange_rules)
        if rules is None or rules.digest == self._refused:
            return
        self._show(rules)
        try:
            trusted = await chosen_of(["yes", "no"], self._ask_line, "trust them: ") == "yes"
        except KeyboardInterrupt:
            trusted = False
        self._refused = rules.digest
        said = "they do not count in this chat"
        if trusted:
            try:
                await asyncio.to_thread(self._trust.trust, rules)
                said = "they count from now on"
            except HoldfastError as error:
                said = f"that could not be kept, so they do not count: {escaped(error.message)}"
        self._say(styled(said, "dim"))
        self._say("")

    def _show(self, rules: PermissionRules) -> None:
        for line in fold(ASKED, width() - 1):
            self._say(styled(line, "bold yellow"))
        for rule in rules.allow:
            for line in fold(in_words(rule), max(width() - 5, 2)):
                self._say(f"    {line}")
        for line in fold(ELSE, width() - 1):
            self._say(styled(line, "dim"))


def answer_for_script(trust: RuleTrust, *, trusts: bool) -> None:
    """Nobody can be asked: the option is the answer, and without it what does not count is said. Blocks."""
    rules = trust.strange_rules()
    if rules is None:
        return
    if trusts:
        trust.trust(rules)
    else:
        sys.stderr.write(f"{NOT_TRUSTED}\n")
