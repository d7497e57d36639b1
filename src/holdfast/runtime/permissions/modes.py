"""Permission modes: what a tool needs is one of three, and a mode grants some of them, asks, or grants all.

A tool that nobody declared needs the most. A mode that is none of ours is refused where it is set.
"""

from holdfast.core.errors import InvalidInput

READ_ONLY = "read-only"
WORKSPACE_WRITE = "workspace-write"
DANGER_FULL_ACCESS = "danger-full-access"
PROMPT = "prompt"
ALLOW = "allow"

NEEDS = (READ_ONLY, WORKSPACE_WRITE, DANGER_FULL_ACCESS)
"""What a tool may need, the least first."""
MODES = (*NEEDS, PROMPT, ALLOW)

GRANTED = "granted"
ASKED = "asked"
REFUSED = "refused"


def check_mode(mode: str) -> str:
    """The mode itself; InvalidInput if there is no such mode."""
    if mode not in MODES:
        raise InvalidInput(f"there is no permission mode {mode!r:.80}", hint=f"one of {', '.join(MODES)}")
    return mode


def grant(mode: str, need: str) -> str:
    """What a mode says of a tool with this need: granted, asked or refused.

    `prompt` asks for whatever changes something, and `workspace-write` for what goes beyond the workspace.
    """
    if mode == ALLOW or need == READ_ONLY:
        return GRANTED
    if mode == PROMPT:
        return ASKED
    if mode in NEEDS and NEEDS.index(mode) >= NEEDS.index(need):
        return GRANTED
    return ASKED if mode == WORKSPACE_WRITE else REFUSED
