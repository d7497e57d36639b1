"""A conversation in a folder of the project: one JSON file, which holds all of it at every instant.

`.holdfast/sessions/<id>.json` is the conversation, `<id>.1.json` and so on are what it was before it grew, and
`<id>.history.jsonl` has the messages that compactions removed and the older effects of tools. The file says how many
bytes of the history are its own: what lies behind them, a writer has left that died. `.holdfast/state/` names the
current conversation, and has the lock of each that is being written.
"""

import os
import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.durable_files import append_after, make_folder, remove_temporaries, write_whole
from holdfast.core.errors import Corrupt, InvalidInput, InvalidJson
from holdfast.models.messages import PromptMessage as Message
from holdfast.runtime.conversation import effects as entries
from holdfast.runtime.conversation.claims import CLAIMS, ConversationWriter, unseen
from holdfast.runtime.conversation.file_claim import FileHold
from holdfast.runtime.conversation.known_types import look_at
from holdfast.runtime.conversation.records import EffectRun, ToolEffect
from holdfast.runtime.conversation.rotation import is_due, keep_previous
from holdfast.runtime.conversation.storage import (
    DAMAGED,
    FORMAT,
    StoredConversation,
    check_format,
    message_json,
    messages_from,
)

if TYPE_CHECKING:
    from holdfast.runtime.tools import MemoryAccess

ROTATED = re.compile(r"\.\d+\Z")


class ConversationFolder:
    """Where a project's conversations are."""

    def __init__(self, project_root: Path) -> None:
        self._project_root = project_root
        home = project_root / ".holdfast"
        self.sessions = home / "sessions"
        self.state = home / "state"
        self._pointer = self.state / "current-session.json"

    def path(self, session_id: str) -> Path:
        """The file of a conversation."""
        return self.sessions / f"{session_id}.json"

    def storage(self, session_id: str) -> "FileStorage":
        """The place of a conversation; InvalidInput if its file could be an older state of another."""
        if ROTATED.search(session_id):
            raise InvalidInput(
                f"{session_id!r:.80} is the name of an older state of a conversation",
                hint="an id that does not end in a dot and a number",
            )
        return FileStorage(self, session_id)

    def memories(self) -> "MemoryAccess":
        """What the project's agents remember beyond their conversations."""
        from holdfast.runtime.memory.file_memories import FileMemories

        return FileMemories(self._project_root)

    def current(self) -> str | None:
        """The conversation that was written last, if that is known."""
        try:
            found = strict_json.parse(self._pointer.read_bytes())
        except (OSError, InvalidJson):
            return None
        name = found.get("session_id") if isinstance(found, dict) else None
        return name if isinstance(name, str) else None

    def point_to(self, session_id: str) -> None:
        """Make this conversation the current one."""
        write_whole(self._pointer, strict_json.dump({"session_id": session_id}))

    def ids(self) -> list[str]:
        """The conversations, the one with the latest change first; those that cannot be read come last."""
        times = {path.stem: _updated_at(path) for path in self.sessions.glob("*.json") if not ROTATED.search(path.stem)}
        there = {name: time for name, time in times.items() if time is not None}
        current = self.current()  # which of two came last in the same millisecond
        return sorted(there, key=lambda name: (there[name], name == current, name), reverse=True)


class FileMembers(msgspec.Struct, frozen=True):
    """What the file says beside the conversation itself."""

    format: int = FORMAT
    revision: int = 0
    """How often it was written."""
    history_bytes: int = 0
    rotated_bytes: int = 0
    """The size from which the growth up to the next rotation counts."""
    effects: list[ToolEffect] = []


class FileStorage:
    """One object's conversation in the project's folder."""

    def __init__(self, folder: ConversationFolder, session_id: str) -> None:
        self._folder = folder
        self._session_id = session_id
        self.path = folder.path(session_id)
        self._history_path = folder.sessions / f"{session_id}.history.jsonl"
        self._name = os.path.realpath(self.path)
        self._writer = ConversationWriter(session_id)
        self._members = FileMembers()
        self._fields: dict[str, Any] = {}
        self._messages: list[msgspec.Raw] = []
        weakref.finalize(self, CLAIMS.abandon, self._name, self._writer)

    def read(self) -> StoredConversation | None:
        """The conversation as it is; None if there is none, Corrupt if it cannot be read."""
        found = _document(self.path)
        if found is None:
            return None
        check_format(found.get("format"), str(self.path))
        own = {name: found.pop(name) for name in FileMembers.__struct_fields__ if name in found}
        try:
            self._members = msgspec.convert(own, FileMembers)
        except msgspec.ValidationError as error:
            raise Corrupt(f"{self.path} cannot be read: {error}", hint=DAMAGED) from error
        messages = messages_from(found.pop("messages", None), str(self.path))
        self._fields, self._messages = found, _raw(messages)
        return StoredConversation(found, messages)

    def save(
        self,
        fields: dict[str, Any],
        messages: Sequence[Message],
        removed: Sequence[Message],
        *,
        taken_back: bool = False,
    ) -> None:
        """Store all of it, durably and at once; the removed messages stay readable in its history."""
        raw = _raw(messages)
        end = b',"taken_back":true}\n' if taken_back else b"}\n"
        lines = [b'{"message":' + message_json(message) + end for message in removed]
        with self._writing():
            self._write(fields, raw, self._members, lines)
            if self._folder.current() != self._session_id:
                self._folder.point_to(self._session_id)

    def history(self, *, taken_back: bool | None) -> list[Message]:
        """The messages that went, oldest first: those that were taken back, the others, or all."""
        try:
            with self._history_path.open("rb") as file:
                lines = file.read(self._members.history_bytes).splitlines()
        except FileNotFoundError:
            return []
        try:
            found = [strict_json.parse(line) for line in lines]
        except InvalidJson as error:
            raise Corrupt(f"{self._history_path} is not what was written: {error.message}") from error
        told = [line for line in found if taken_back in (None, bool(line.get("taken_back"))) and "message" in line]
        return messages_from([line["message"] for line in told], str(self._history_path))

    def start_effect(self, call_id: str, tool: str, arguments: Any, shown: str) -> EffectRun:
        """Record that a tool is about to run; run it only if the answer says so."""
        with self._writing():
            start, after = entries.started(self._members.effects, self._session_id, call_id, tool, arguments, shown)
            self._write_effects(after)
            return start

    def finish_effect(self, call_id: str, status: str, result: Any) -> ToolEffect:
        """Record what became of it; the same end again changes nothing, another one is a Conflict."""
        with self._writing():
            effect, after = entries.finished(self._members.effects, call_id, status, result)
            self._write_effects(after)
            return effect

    def unresolved_effects(self) -> list[ToolEffect]:
        """The effects that were started and have not ended."""
        return entries.unresolved(self._members.effects)

    def release(self) -> None:
        """Give the claim up, so that another process can go on."""
        CLAIMS.release(self._name, self._writer)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write as the one object that may; the first time, the conversation is claimed."""
        with CLAIMS.writing(self._name, self._writer, take=self._claim, check=self._check_newest):
            yield

    def _claim(self) -> FileHold:
        for folder in (self._folder.sessions, self._folder.state):
            make_folder(folder)
        hold = FileHold.take(self._folder.state / f"{self._session_id}.lock", self._session_id)
        remove_temporaries(self.path)
        return hold

    def _check_newest(self) -> None:
        """StaleWriter if another has written since this object read it."""
        revision = _revision(self.path)
        if revision not in (None, self._members.revision):
            raise unseen(self._session_id)

    def _write_effects(self, effects: list[ToolEffect]) -> None:
        if effects == self._members.effects:
            return
        gone = entries.overdue(effects)
        members = msgspec.structs.replace(self._members, effects=[each for each in effects if each not in gone])
        lines = [strict_json.dump({"effect": msgspec.to_builtins(effect)}) + b"\n" for effect in gone]
        self._write(self._fields, self._messages, members, lines)

    def _write(
        self, fields: dict[str, Any], messages: list[msgspec.Raw], members: FileMembers, history: list[bytes]
    ) -> None:
        """Write the history, then the file; what the object knows of it changes if both are there."""
        change = msgspec.structs.replace
        members = change(members, revision=members.revision + 1)
        if history:
            size = append_after(self._history_path, members.history_bytes, b"".join(history))
            members = change(members, history_bytes=size)
        raw = _encoded(fields, messages, members)
        if is_due(len(raw), members.rotated_bytes, fields["rotate_after_bytes"]) and self.path.exists():
            keep_previous(self.path, fields["max_rotated_files"])
            members = change(members, rotated_bytes=len(raw))
            raw = _encoded(fields, messages, members)
        elif len(raw) < members.rotated_bytes:
            members = change(members, rotated_bytes=len(raw))
            raw = _encoded(fields, messages, members)
        write_whole(self.path, raw)
        self._members, self._fields, self._messages = members, fields, messages


def _raw(messages: Sequence[Message]) -> list[msgspec.Raw]:
    return [msgspec.Raw(message_json(message)) for message in messages]


def _encoded(fields: dict[str, Any], messages: list[msgspec.Raw], members: FileMembers) -> bytes:
    head = {**msgspec.to_builtins(members), **fields}
    parts = strict_json.members(strict_json.dump(head)) | {"messages": msgspec.Raw(msgspec.json.encode(messages))}
    return strict_json.join(parts)


def _document(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None if there is no file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        found = strict_json.parse(raw)
    except InvalidJson as error:
        raise Corrupt(f"{path} cannot be read: {error.message}", hint=DAMAGED) from error
    if not isinstance(found, dict):
        raise Corrupt(f"{path} is not a conversation", hint=DAMAGED)
    return found


class _Times(msgspec.Struct):
    updated_at: str


class _Revision(msgspec.Struct):
    revision: int


look_at(FileMembers, _Times, _Revision)


def _updated_at(path: Path) -> str | None:
    """When a conversation was changed last; nothing if that cannot be read, None if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Times).updated_at
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError):
        return ""


def _revision(path: Path) -> int | None:
    """How often a file was written; None if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Revision).revision
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise Corrupt(f"{path} is not a conversation: {error}", hint=DAMAGED) from error
