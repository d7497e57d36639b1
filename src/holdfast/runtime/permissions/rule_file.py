"""The rule file of a project, `.holdfast/permission-rules.json`: lists of rules under allow, deny and ask.

It is read strictly. A file that is there and cannot be understood to the last member is no file without rules: no call
is allowed until somebody has mended it.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.durable_files import alone_in, make_folder, write_whole
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.runtime.permissions.rules import PermissionRule, PermissionRules

RULES_FILE = ".holdfast/permission-rules.json"
KINDS = ("allow", "deny", "ask")
MEMBERS = ("tool", "contains", "path_contains")
MAX_BYTES = 256 * 1024


def load_rules(project_root: Path) -> PermissionRules:
    """The rules of a project, none if it has no file; a file that cannot be read gives rules with a problem."""
    path = project_root / RULES_FILE
    try:
        raw = _read(path)
        return _rules(_document(raw), path, raw)
    except FileNotFoundError:
        return PermissionRules()
    except (HoldfastError, OSError) as error:
        return PermissionRules(source=str(path), problem=f"{RULES_FILE} cannot be used: {error}")


def add_rule(project_root: Path, kind: str, rule: PermissionRule) -> PermissionRules:
    """Add a rule to the file, which is made if it is not there; InvalidInput if what is there cannot be understood."""
    with changing_rules(project_root):
        return append_rule(project_root, kind, rule)


@contextmanager
def changing_rules(project_root: Path) -> Iterator[None]:
    """Change the rules of a project as the only one who does, in this process and in others."""
    folder = (project_root / RULES_FILE).parent
    make_folder(folder)
    with alone_in(folder):
        yield


def append_rule(project_root: Path, kind: str, rule: PermissionRule) -> PermissionRules:
    """The same for whoever is the only one."""
    path = project_root / RULES_FILE
    try:
        raw = _read(path)
        document = _document(raw)
        _rules(document, path, raw)
    except FileNotFoundError:
        document = {}
    entry = {name: value for name in MEMBERS if (value := getattr(rule, name)) is not None}
    document.setdefault(_kind(kind), []).append(entry)
    written = strict_json.dump(document) + b"\n"
    rules = _rules(document, path, written)
    write_whole(path, written)
    return rules


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"it has more than {MAX_BYTES} bytes")
    return raw


def _document(raw: bytes) -> dict[str, Any]:
    document = strict_json.parse(raw)
    if not isinstance(document, dict):
        raise InvalidInput("it is not a JSON object")
    return document


def _rules(document: dict[str, Any], path: Path, raw: bytes) -> PermissionRules:
    found: dict[str, tuple[PermissionRule, ...]] = {}
    for kind, entries in document.items():
        if not isinstance(entries, list):
            raise InvalidInput(f"{_kind(kind)} is not a list of rules")
        found[_kind(kind)] = tuple(_rule(entry, f"rule {number} of {kind}") for number, entry in enumerate(entries, 1))
    allow, deny, ask = (found.get(kind, ()) for kind in KINDS)
    return PermissionRules(allow, deny, ask, str(path), digest=hashlib.sha256(raw).hexdigest())


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise InvalidInput(f"there is no kind of rule {kind!r:.80}", hint=f"one of {', '.join(KINDS)}")
    return kind


def _rule(entry: Any, name: str) -> PermissionRule:
    if not isinstance(entry, dict) or not entry:
        raise InvalidInput(f"{name} must be an object with at least one of {', '.join(MEMBERS)}")
    for member, value in entry.items():
        if member not in MEMBERS:
            raise InvalidInput(f"{name} has an unknown member {member!r:.80}")
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"{member} of {name} must be a text that is not blank")
    return PermissionRule(**entry)
