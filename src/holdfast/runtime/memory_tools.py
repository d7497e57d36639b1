"""Tools for what the agent is to remember beyond this conversation: one namespace per agent, in the tenant's store.

Saving under a key that is there makes a new version; the older ones stay in its history. A save belongs to its call:
a turn that comes to the same call again saves nothing twice. Asking for what is not there is no error.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.retry import until_written
from holdfast.models import Tool
from holdfast.runtime.permissions.modes import READ_ONLY, WORKSPACE_WRITE
from holdfast.runtime.tools import MemoryAccess, ToolContext, ToolUse, declare

if TYPE_CHECKING:
    from holdfast.store import Memory

MOST = 20
MAX_KEYS = 100
MAX_VALUE = 4_000
MAX_WORDS = 8
WORD = re.compile(r"\w{3,}|[^\W\x00-\x7f]+")
NO_WORD = re.compile(r"[\W_]+")
COMMON = frozenset({"about", "and", "are", "for", "from", "know", "that", "the", "this", "user", "was", "what", "with"})


def namespace_of(agent: str) -> str:
    """Where an agent's memories are."""
    return f"agent:{agent}"


def key_of(name: str) -> str:
    """The key for a name, however it is spelled: `Favorite_Color` and `favorite color` are one."""
    return " ".join(NO_WORD.split(name.casefold())).strip() or name.strip()


class SaveMemory(msgspec.Struct, frozen=True):
    """Remember a fact under a key."""

    key: str
    value: str

    has_effect: ClassVar[bool] = False
    need: ClassVar[str] = WORKSPACE_WRITE
    declaration: ClassVar[Tool] = declare(
        "save_memory",
        "Remember a fact beyond this conversation. A key that is there gets the new value.",
        {"key": "A short name for the fact, such as `favorite color`.", "value": "The fact, in a sentence."},
    )

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        namespace, key = namespace_of(context.agent), key_of(self.key)
        await until_written(
            lambda: context.memories.put(
                namespace, key, self.value, idempotency_key=context.call_id, source=context.session_id
            )
        )
        return f"remembered under {key!r}"


class RecallMemory(msgspec.Struct, frozen=True):
    """Recall what is remembered under a key, or with some words in it."""

    query: str

    has_effect: ClassVar[bool] = False
    need: ClassVar[str] = READ_ONLY
    declaration: ClassVar[Tool] = declare(
        "recall_memory",
        "Recall what was remembered in this or another conversation, by its key or by words in it.",
        {"query": "The key, or a few words."},
    )

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        memories, namespace = context.memories, namespace_of(context.agent)
        words = [word for word in dict.fromkeys(WORD.findall(self.query.casefold())) if word not in COMMON][:MAX_WORDS]
        found = await _by_key(memories, namespace, self.query) or await _by_words(memories, namespace, words)
        if found:
            return _told(found)
        page = (await memories.list(namespace, limit=MAX_KEYS)).memories
        named = [memory for memory in page if any(word in memory.key for word in words)]
        if named:
            return _told(named)
        keys = ", ".join(memory.key for memory in page)
        return f"nothing is remembered about {self.query!r}" + (f"\nthere is something about: {keys}" if keys else "")


MEMORY_TOOLS: tuple[type[ToolUse], ...] = (SaveMemory, RecallMemory)


async def _by_key(memories: MemoryAccess, namespace: str, query: str) -> list["Memory"]:
    try:
        return [await memories.get(namespace, key_of(query))]
    except (NotFound, InvalidInput):
        return []


async def _by_words(memories: MemoryAccess, namespace: str, words: list[str]) -> list["Memory"]:
    """Those with all of the words, else those with any of them."""
    for queries in ([" ".join(words)], words):
        found: dict[str, Memory] = {}
        for query in filter(None, queries):
            for hit in await memories.search(query, namespace=namespace, limit=MOST):
                found.setdefault(hit.memory.key, hit.memory)
        if found:
            return list(found.values())
    return []


def _told(memories: Iterable["Memory"]) -> str:
    """Each in a line, the newest last."""
    newest = sorted(memories, key=lambda memory: memory.created_at)[-MOST:]
    return "\n".join(f"{memory.key}: {_words(memory)}" for memory in newest)


def _words(memory: "Memory") -> str:
    value = memory.value()
    return (value if isinstance(value, str) else strict_json.dump(value).decode())[:MAX_VALUE]
