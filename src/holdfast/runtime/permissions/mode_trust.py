"""Whether the wide permission mode of a conversation is its user's own.

A conversation can come with a project that was cloned, and say that it was left in a mode that lets tools do anything.
So a mode that is wider than the workspace counts only in a conversation in which this user has chosen it. Their word is
kept outside the project.
"""

from pathlib import Path
from typing import Any

from holdfast.runtime.permissions.modes import ALLOW, DANGER_FULL_ACCESS
from holdfast.runtime.permissions.trust_file import TrustFile

WIDE = frozenset({DANGER_FULL_ACCESS, ALLOW})
MOST_KEPT = 200
"""Conversations of a folder whose wide modes are known; an older one is asked about again."""


class ModeTrust:
    """The modes that the user has chosen for the conversations of one folder. All of it blocks."""

    def __init__(self, kept_in: Path, project_root: Path) -> None:
        self._file = TrustFile(kept_in, project_root)

    def counts(self, session_id: str, mode: str) -> bool:
        """Whether a conversation may be in this mode."""
        return mode not in WIDE or _modes(self._file.said()).get(session_id) == mode

    def choose(self, session_id: str, mode: str) -> None:
        """Let a conversation be in the mode that the user has chosen for it."""
        known = _modes(self._file.said()).get(session_id)
        if known != (mode if mode in WIDE else None):
            self._file.say(lambda before: _with_mode(_modes(before), session_id, mode))


def _with_mode(modes: dict[str, str], session_id: str, mode: str) -> dict[str, str]:
    modes.pop(session_id, None)
    if mode in WIDE:
        modes[session_id] = mode
    return dict(list(modes.items())[-MOST_KEPT:])


def _modes(said: Any) -> dict[str, str]:
    return dict(said) if isinstance(said, dict) else {}
