"""The tags of sessions that hooks have begun."""

import hashlib

CLAUDE_CODE = "claude-code"
OTHER = "hook"


def folder_tag(cwd: str) -> str:
    """The tag by which the sessions of one folder find each other."""
    return f"folder-{hashlib.sha256(cwd.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
