"""Memories: facts that outlive sessions.

Here are the parts of their contract that do not depend on where they are kept.
"""

from holdfast.store.memory.memories import (
    MAX_HITS,
    MAX_PAGE,
    MemoryHit,
    MemoryPage,
    check_whole,
    checked_payload,
    memory_name,
)
from holdfast.store.memory.memory_rows import (
    Memory,
    MemoryName,
    MemoryVersion,
    damaged,
    digest_of,
    key_used,
    missing,
    stale_memory,
)
from holdfast.store.text.tokenizer import Query, is_found, parse_query, snippet, texts

__all__ = [
    "MAX_HITS",
    "MAX_PAGE",
    "Memory",
    "MemoryHit",
    "MemoryName",
    "MemoryPage",
    "MemoryVersion",
    "Query",
    "check_whole",
    "checked_payload",
    "damaged",
    "digest_of",
    "is_found",
    "key_used",
    "memory_name",
    "missing",
    "parse_query",
    "snippet",
    "stale_memory",
    "texts",
]
