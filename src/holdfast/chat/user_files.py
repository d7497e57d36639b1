"""The files that a chat keeps for its user, and not for a project: in `XDG_STATE_HOME`, for this user alone."""

import os
from pathlib import Path


def history_file() -> Path:
    """What the user has typed."""
    return _folder() / "chat-history"


def trust_file() -> Path:
    """Which folders' permission rules the user trusts."""
    return _folder() / "trusted-rules.json"


def mode_file() -> Path:
    """For which conversations the user has chosen a wide permission mode."""
    return _folder() / "trusted-modes.json"


def _folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    return Path(home if Path(home).is_absolute() else Path.home() / ".local" / "state") / "holdfast"
