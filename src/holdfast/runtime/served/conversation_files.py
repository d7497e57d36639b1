"""The conversations of the gateway's agent in files: one folder for each tenant, one file for each session.

The folder of a tenant is a project's, as `ConversationSession` knows it, so tenants never meet. A file is named after
the session in the gateway's store, never after what a client sends. The store can tell a conversation again, so a file
that is gone, or does not fit the log any more, is begun anew. Disks may be slow: this works in threads of its own.
"""

import hashlib
import logging
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from holdfast.core.durable_files import sync_folder, writing
from holdfast.core.ids import check_session_id, check_tenant
from holdfast.models.messages import PromptMessage, PromptRole
from holdfast.runtime.conversation import ConversationSession
from holdfast.runtime.conversation.file_storage import ROTATED, ConversationFolder
from holdfast.runtime.conversation.known_types import look_at
from holdfast.runtime.threads import to_its_end
from holdfast.runtime.workflow.definition_of_done import remove_definitions

TENANT = "tenant-"
HASHED = "h_"
THREADS = 16
FILES = re.compile(r"(\.\d+)?\.json\Z|\.history\.jsonl\Z|\.json\.[0-9a-f]{16}\.tmp\Z")
"""How the names of a conversation's files go on: its own, older states, its history, what a writer that died left."""

Result = TypeVar("Result")

log = logging.getLogger("holdfast.runtime")


class ConversationFiles:
    """Where the agent's conversations are."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.on_tenant: Callable[[str], None] | None = None
        """Hears of a tenant that is about to have a folder."""
        self._threads = ThreadPoolExecutor(THREADS, "holdfast-conversations")

    async def run(self, work: Callable[[], Result]) -> Result:
        """The result of work on the files, in a thread; it comes to its end also if the caller is cancelled."""
        return await to_its_end(work, self._threads)

    def load(self, tenant: str, session_id: str) -> ConversationSession | None:
        """The conversation of a session; None if there is none. Blocks."""
        return ConversationSession.load(
            project_root=self._project(tenant),
            system_message_factory=_no_message,
            few_shot_factory=list,
            session_id=file_name(session_id),
        )

    def new(self, tenant: str, session_id: str) -> ConversationSession:
        """A conversation for a session that has none; it is not kept yet."""
        return ConversationSession(
            system_message_factory=_no_message,
            few_shot_factory=list,
            project_root=self._project(tenant),
            session_id=file_name(session_id),
        )

    def remove(self, tenant: str, session_id: str) -> bool:
        """Remove all that is kept of a session's conversation, durably; whether there was something. Blocks."""
        project = self._project(tenant)
        folder = ConversationFolder(project)
        remove_definitions(project, file_name(session_id))
        gone = _files_of(folder.sessions, file_name(session_id))
        for path in gone:
            with writing(path):
                path.unlink(missing_ok=True)
        if gone:
            with writing(folder.sessions):
                sync_folder(folder.sessions)
        return bool(gone)

    def tenants(self) -> list[str]:
        """The tenants that have a folder. Blocks."""
        return sorted(folder.name.removeprefix(TENANT) for folder in self.root.glob(f"{TENANT}*"))

    def sessions(self, tenant: str) -> list[tuple[str, int]]:
        """The session of each conversation of a tenant, with the seq of the message that it is at. Blocks.

        One that cannot be read is told of and left alone: it keeps nobody from looking at the others.
        """
        paths = sorted(ConversationFolder(self._project(tenant)).sessions.glob("*.json"))
        found = [_served_in(path) for path in paths if not ROTATED.search(path.stem)]
        return [(served.session_id, served.seq) for served in found if served is not None]

    def _project(self, tenant: str) -> Path:
        return self.root / f"{TENANT}{check_tenant(tenant)}"


def file_name(session_id: str) -> str:
    """The id of a session as that of its file, which no other session has: one that could be taken for a file of
    another is named by its hash."""
    check_session_id(session_id)
    if ROTATED.search(session_id) or session_id.startswith(HASHED):
        return HASHED + hashlib.sha256(session_id.encode()).hexdigest()
    return session_id


class _Served(msgspec.Struct):
    session_id: str
    seq: int


class _Head(msgspec.Struct):
    served_turn: _Served | None = None


look_at(_Head)


def _served_in(path: Path) -> _Served | None:
    """The turn that a file is at; None if it says none, or nothing."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Head).served_turn
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        log.warning("%s is not a conversation: %s", path, error)
        return None


def _files_of(folder: Path, name: str) -> list[Path]:
    """The files of a conversation."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(name)]
    return [folder / found for found in names if FILES.match(found.removeprefix(name))]


def _no_message() -> PromptMessage:
    """What the agent is told of itself belongs to a turn, and is not kept."""
    return PromptMessage(PromptRole.SYSTEM, "")
