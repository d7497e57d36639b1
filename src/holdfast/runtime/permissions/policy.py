"""The decision about one call of a tool, before it runs.

Rules that cannot be read refuse everything. A path that leaves the workspace is refused whatever the rules and the mode
say, and so is a change to the project's own `.holdfast` folder, where the rules are. Then deny wins over ask, ask over
allow, allow over the mode. A change to a file that runs or permits something later needs as much as a command, and is
allowed by a rule only if that names it. What is to be asked is refused if there is nobody to ask.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core.confined_files import OutsideWorkspace
from holdfast.runtime.permissions.modes import ASKED, DANGER_FULL_ACCESS, GRANTED, READ_ONLY, grant
from holdfast.runtime.permissions.powerful_files import is_named_by, plain, powerful_name
from holdfast.runtime.permissions.rules import CallText, PermissionRule, PermissionRules, permits, restricts
from holdfast.runtime.tools import PATHS
from holdfast.runtime.workspace import place_in

OWN_FOLDER = ".holdfast"

ALLOWED = "allow"
DENIED = "deny"
TO_ASK = "ask"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call may run (`allow`, `deny` or `ask`), by which code, and why in words."""

    outcome: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """What a person is asked before a call runs: which tool, asked what exactly, and why they are asked."""

    tool: str
    arguments: dict[str, Any]
    need: str
    reason: str


def decide(
    tool: str, arguments: Mapping[str, Any], *, need: str, mode: str, rules: PermissionRules, workspace: Path
) -> Decision:
    """Whether a tool that needs this much may be called with these arguments. Blocks."""
    if rules.problem is not None:
        return Decision(DENIED, "rules_unreadable", rules.problem)
    written = tuple(value for name in PATHS if isinstance(value := arguments.get(name), str))
    try:
        real = tuple(place_in(workspace, path) for path in written)
    except OutsideWorkspace as error:
        return Decision(DENIED, "outside_workspace", error.message)
    except (OSError, ValueError, RuntimeError) as error:
        return Decision(DENIED, "outside_workspace", f"the path cannot be followed: {error}")
    if need != READ_ONLY and any(_is_own(path) for path in real):
        return Decision(DENIED, "own_folder", f"{OWN_FOLDER} is the runtime's own folder: tools do not change it")
    powerful = {name for path in real if (name := powerful_name(path)) is not None} if need != READ_ONLY else set()
    allow = [rule for rule in rules.allow if all(is_named_by(rule, name) for name in powerful)]
    call = CallText(tool, tuple(_texts(arguments)), written, real)
    for outcome, given, matches in (
        (DENIED, rules.deny, restricts),
        (TO_ASK, rules.ask, restricts),
        (ALLOWED, allow, permits),
    ):
        found = next((rule for rule in given if matches(rule, call)), None)
        if found is not None:
            return Decision(outcome, f"{outcome}_rule", f"a rule of the project says {outcome}: {_words(found)}")
    if powerful:
        what = f"{tool} of {', '.join(sorted(powerful))}, which may run or permit something later,"
        return _by_mode(what, mode, DANGER_FULL_ACCESS)
    return _by_mode(tool, mode, need)


def _by_mode(tool: str, mode: str, need: str) -> Decision:
    said = grant(mode, need)
    if said == GRANTED:
        return Decision(ALLOWED, "mode", f"{mode} allows what {tool} needs ({need})")
    outcome = TO_ASK if said == ASKED else DENIED
    return Decision(outcome, "mode", f"{tool} needs {need}, and the permission mode is {mode}")


def _is_own(path: str) -> bool:
    """Whether a path is in the runtime's folder."""
    return plain(path.split("/", 1)[0]) == OWN_FOLDER


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _words(rule: PermissionRule) -> str:
    given = (("tool", rule.tool), ("contains", rule.contains), ("path_contains", rule.path_contains))
    return ", ".join(f"{name} {value!r}" for name, value in given if value is not None)
