"""The gate that every tool call of a project passes: the rules, the mode, and the user where these say so.

The rules are read for each call: what the user has just written down counts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from holdfast.runtime.permissions import Decision, PermissionQuestion, PermissionRules, decide

AskPermission = Callable[[PermissionQuestion], Awaitable[bool]]
"""Asks a person whether a call may run."""
ReadRules = Callable[[], PermissionRules]
"""The rules that count now."""


class PermissionGate:
    """Permits the tool calls of one project, in the mode that is active."""

    def __init__(self, workspace: Path, mode: Callable[[], str], ask: AskPermission | None, rules: ReadRules) -> None:
        self._workspace = workspace
        self._mode = mode
        self._ask = ask
        self._rules = rules

    async def permit(self, tool: str, arguments: dict[str, Any], need: str) -> str | None:
        """Why the tool may not be called with these arguments; None if it may."""
        found = await asyncio.to_thread(self._decided, tool, arguments, need)
        if found.outcome == "allow":
            return None
        if found.outcome == "ask" and self._ask is not None:
            granted = await self._ask(PermissionQuestion(tool, arguments, need, found.reason))
            return None if granted else "the user said no"
        return found.reason

    def _decided(self, tool: str, arguments: dict[str, Any], need: str) -> Decision:
        return decide(tool, arguments, need=need, mode=self._mode(), rules=self._rules(), workspace=self._workspace)
