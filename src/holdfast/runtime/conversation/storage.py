"""Where a conversation is kept: what a storage does for it, and what comes back.

A storage belongs to one object. Its first write claims the conversation for that object; from then on every other
object's write is refused. Reading claims nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import Corrupt, InvalidInput, SchemaUnknown
from holdfast.models.messages import PromptMessage as Message
from holdfast.runtime.conversation.known_types import look_at
from holdfast.runtime.conversation.records import EffectRun, ToolEffect

if TYPE_CHECKING:
    from holdfast.runtime.tools import MemoryAccess

FORMAT = 1
"""The version of what is stored."""

look_at(Message)


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation as it was found: its fields as JSON values, and its messages."""

    fields: dict[str, Any]
    messages: list[Message]


class ConversationStorage(Protocol):
    """Where one object keeps its conversation."""

    @property
    def path(self) -> Path | None:
        """The file that holds it, if it is in a file."""
        ...

    def read(self) -> StoredConversation | None:
        """The conversation as it is; None if there is none, Corrupt if it cannot be read."""
        ...

    def save(
        self,
        fields: dict[str, Any],
        messages: Sequence[Message],
        removed: Sequence[Message],
        *,
        taken_back: bool = False,
    ) -> None:
        """Store all of it, durably and at once; the removed messages stay readable in its history, and whether they
        were taken back."""
        ...

    def history(self, *, taken_back: bool | None) -> list[Message]:
        """The messages that went, oldest first: those that were taken back, the others, or all."""
        ...

    def start_effect(self, call_id: str, tool: str, arguments: Any, shown: str) -> EffectRun:
        """Record that a tool is about to run; run it only if the answer says so. EffectUnresolved if it was started
        before and nobody knows its end."""
        ...

    def finish_effect(self, call_id: str, status: str, result: Any) -> ToolEffect:
        """Record what became of it; the same end again changes nothing, another one is a Conflict."""
        ...

    def unresolved_effects(self) -> list[ToolEffect]:
        """The effects that were started and have not ended."""
        ...

    def release(self) -> None:
        """Give the claim up, so that another process can go on."""
        ...


class Home(Protocol):
    """Where the conversations of a project are."""

    def storage(self, session_id: str) -> ConversationStorage:
        """The place of one of them, which need not be there yet; InvalidInput if there can be none of this id."""
        ...

    def current(self) -> str | None:
        """The conversation that was written last, if that is known."""
        ...

    def ids(self) -> list[str]:
        """The conversations, the one with the latest change first; those that cannot be read come last."""
        ...

    def memories(self) -> "MemoryAccess":
        """What the project's agents remember beyond their conversations."""
        ...


def message_document(message: Message) -> dict[str, Any]:
    """A message as JSON values; what it does not have is left out."""
    document: dict[str, Any] = {"role": str(message.role), "content": message.content}
    if message.tool_calls:
        document["tool_calls"] = msgspec.to_builtins(message.tool_calls)
    if message.tool_call_id is not None:
        document["tool_call_id"] = message.tool_call_id
    return document


def check_message(message: Message) -> Message:
    """The message itself; InvalidInput if it could not be read again."""
    try:
        msgspec.convert(message_document(message), Message)
    except (msgspec.ValidationError, TypeError, AttributeError) as error:
        raise InvalidInput(f"not a message: {error}", hint="Message(role, content) with a Role and a text") from error
    return message


def message_json(message: Message) -> bytes:
    """A message as JSON; InvalidJson if it has none."""
    return strict_json.dump(message_document(message))


def messages_from(documents: Any, place: str) -> list[Message]:
    """The messages of their documents; Corrupt, with the place where they were found, if they are no messages."""
    try:
        return msgspec.convert(documents, list[Message])
    except msgspec.ValidationError as error:
        raise Corrupt(f"the messages in {place} cannot be read: {error}", hint=DAMAGED) from error


def check_format(version: Any, place: str) -> None:
    """SchemaUnknown if a newer Holdfast has written it, Corrupt if none has."""
    if not isinstance(version, int) or version < 1:
        raise Corrupt(f"{place} is not a conversation", hint=DAMAGED)
    if version > FORMAT:
        raise SchemaUnknown(f"{place} was written by a newer Holdfast (format {version})")


DAMAGED = "an older state of it may be beside it (.1.json, .2.json); nothing was changed"
