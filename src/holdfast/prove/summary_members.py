"""Members that the summaries of all provers have, each made in one way."""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.prove.verdict import Finding


def argument_members(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, as JSON has them."""
    return {name: _plain(value) for name, value in arguments.items() if value not in (None, ())}


def version_members(**others: str) -> dict[str, str]:
    """Which versions were at work: ours, others, and those of the machine."""
    return {
        "holdfast": __version__,
        **others,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def finding_members(finding: Finding) -> dict[str, Any]:
    """What was found of a claim, and on what grounds."""
    return {
        "verdict": finding.verdict.value,
        "fault": finding.fault,
        "reason": finding.reason,
        "expected": finding.expected,
        "got": finding.got,
        "hint": finding.hint,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
