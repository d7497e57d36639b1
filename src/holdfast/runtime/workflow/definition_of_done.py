"""The definition of done of a task: what was asked, word for word, how that is checked, and what was found.

Each is a JSON file of its own in `.holdfast/dod/`, replaced as a whole whenever something changes. One that is not
finished is found again by its task and goes on, also in another session.
"""

import hashlib
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.clock import SystemClock, to_iso
from holdfast.core.durable_files import make_folder, sync_folder, write_whole, writing
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.runtime.conversation.known_types import look_at

FOLDER = ".holdfast/dod"
RETRY_BUDGET = 3

DRAFT = "draft"
IN_PROGRESS = "in_progress"
VERIFYING = "verifying"
FIXING = "fixing"
DONE = "done"
FAILED = "failed"
STATUSES = (DRAFT, IN_PROGRESS, VERIFYING, FIXING, DONE, FAILED)
FINISHED = (DONE, FAILED)


@dataclass(kw_only=True)
class DefinitionOfDone:
    """When a task is done, and how far it is."""

    task_statement: str
    acceptance_criteria: list[str] = field(default_factory=list)
    verification_commands: list[str] = field(default_factory=list)
    pending_items: list[str] = field(default_factory=list)
    completed_items: list[str] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    """What each check gave: its command, whether it passed, its exit code and its output."""
    status: str = DRAFT
    retry_budget: int = RETRY_BUDGET
    retry_count: int = 0
    touched_files: list[str] = field(default_factory=list)
    session_id: str | None = None
    created_at: str = field(default_factory=lambda: to_iso(SystemClock().now()))
    updated_at: str = field(default_factory=lambda: to_iso(SystemClock().now()))

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InvalidInput(f"a definition of done is never {self.status!r:.80}", hint=f"one of {STATUSES}")

    @property
    def is_finished(self) -> bool:
        """Whether nothing more comes."""
        return self.status in FINISHED

    def touch(self, path: str) -> None:
        """Note that a file of the workspace was changed."""
        if path not in self.touched_files:
            self.touched_files.append(path)


look_at(DefinitionOfDone)


@dataclass(frozen=True, slots=True)
class KeptDefinition:
    """A definition of done and the file that it is kept in."""

    path: Path
    definition: DefinitionOfDone

    def save(self) -> None:
        """Write it as it is now, durably. Blocks."""
        self.definition.updated_at = to_iso(SystemClock().now())
        make_folder(self.path.parent)
        write_whole(self.path, strict_json.dump(msgspec.to_builtins(self.definition)))


def open_definition(project_root: Path, task: str, session_id: str | None = None) -> tuple[KeptDefinition, bool]:
    """The unfinished definition of a task, or a new one that is kept from now on; and whether it was there before."""
    prefix = hashlib.sha256(task.encode(errors="surrogatepass")).hexdigest()[:16]
    for name in sorted(_names(project_root / FOLDER, f"{prefix}-"), reverse=True):
        path = project_root / FOLDER / name
        found = load_definition(path)
        if found is not None and found.task_statement == task and not found.is_finished:
            found.session_id = session_id or found.session_id  # it goes with the session that works on it now
            return KeptDefinition(path, found), True
    stamp = to_iso(SystemClock().now()).replace("-", "").replace(":", "").replace(".", "")
    path = project_root / FOLDER / f"{prefix}-{stamp}-{secrets.token_hex(3)}.json"
    kept = KeptDefinition(path, DefinitionOfDone(task_statement=task, session_id=session_id))
    kept.save()
    return kept, False


def remove_definitions(project_root: Path, session_id: str) -> None:
    """Remove the definitions of a session that is gone, durably. Blocks."""
    folder = project_root / FOLDER
    found = [folder / name for name in _names(folder, "")]
    gone = [path for path in found if (kept := load_definition(path)) is not None and kept.session_id == session_id]
    for path in gone:
        with writing(path):
            path.unlink(missing_ok=True)
    if gone:
        with writing(folder):
            sync_folder(folder)


def _names(folder: Path, prefix: str) -> list[str]:
    """The files of a folder that begin so; a long conversation leaves thousands of others, so each costs little."""
    try:
        with os.scandir(folder) as entries:
            return [each.name for each in entries if each.name.startswith(prefix) and each.name.endswith(".json")]
    except FileNotFoundError:
        return []


def load_definition(path: Path) -> DefinitionOfDone | None:
    """The definition in a file; None if there is none, or none that can be read."""
    try:
        return msgspec.convert(strict_json.parse(path.read_bytes()), DefinitionOfDone)
    except (HoldfastError, OSError, msgspec.ValidationError):
        return None
