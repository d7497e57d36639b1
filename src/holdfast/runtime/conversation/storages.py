"""From the name of a storage to a conversation in it: in the project's folder, or in a store."""

from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import SESSION_ID
from holdfast.runtime.conversation.file_storage import ConversationFolder
from holdfast.runtime.conversation.storage import ConversationStorage, Home, StoredConversation

FILE = "file"
STORE = "store"
STORE_FILE = "store.db"
"""The store of a project that names none, in its `.holdfast` folder."""


def home_of(kind: str, project_root: Path, store_url: str | None) -> Home:
    """Where a project's conversations are; InvalidInput if there is no such storage."""
    if kind == FILE:
        if store_url is not None:
            raise InvalidInput("a conversation in files has no store", hint=f'storage="{STORE}" for one in a store')
        return ConversationFolder(project_root)
    if kind == STORE:
        from holdfast.runtime.conversation.store_storage import ConversationStore

        url = store_url or f"sqlite:///{project_root.resolve() / '.holdfast' / STORE_FILE}"
        return ConversationStore(url, project_root)
    raise InvalidInput(f"there is no storage {kind!r:.80}", hint=f"{FILE} or {STORE}")


def found_conversation(home: Home, session_id: str | None) -> tuple[StoredConversation, ConversationStorage] | None:
    """The conversation of this id, or without one the current, else the newest; None if there is none."""
    if session_id is not None:
        return _found(home, session_id)
    return _found(home, home.current()) or _found(home, next(iter(home.ids()), None))


def _found(home: Home, session_id: str | None) -> tuple[StoredConversation, ConversationStorage] | None:
    if session_id is None or not isinstance(session_id, str) or not SESSION_ID.match(session_id):
        return None
    try:
        storage = home.storage(session_id)
    except InvalidInput:
        return None
    stored = storage.read()
    return None if stored is None else (stored, storage)
