"""What a session lacks of what its folder says: the changes that an import still has to make.

A session that has all of it lacks nothing, so importing the same folder again changes nothing. Members that the
session has and the folder does not say stay.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.store.portable import SessionFolder
from holdfast.store.portable.files_layout import moment
from holdfast.store.portable.folder_documents import described, ended

END = ("status", "outcome", "response")


@dataclass(frozen=True, slots=True)
class SessionDocuments:
    """What a session has: its own metadata, its tags, its state as clients see it, and how it ended."""

    metadata: dict[str, Any]
    tags: list[str]
    state: dict[str, Any]
    final: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class MissingDocuments:
    """What a session lacks; each of them is empty or None if it lacks nothing of it."""

    metadata: dict[str, Any]
    tags: list[str]
    state: dict[str, Any]
    end: dict[str, Any] | None


def missing_in(here: SessionDocuments, folder: SessionFolder) -> MissingDocuments:
    """What the session lacks of a folder's documents."""
    about = described(folder.metadata or {}, folder.initial)
    metadata = about.body.metadata or {}
    end = ended(folder.final, about.status)
    end = None if end is None else {name: end[name] for name in END}
    return MissingDocuments(
        metadata if any(here.metadata.get(name) != value for name, value in metadata.items()) else {},
        [tag for tag in about.body.tags or () if tag not in here.tags],
        folder.state if folder.state and not has_all(here.state, folder.state) else {},
        end if end is not None and not has_all(here.final or {}, end) else None,
    )


def import_key(value: Any) -> str:
    """The idempotency key of what an import writes: the same for the same."""
    return "import-" + hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def has_all(here: Any, given: Any) -> bool:
    """Whether a value of the session has all that a file says: members of objects, and each object of a list.

    A member that the file says is null need not be there. Times are the same however they are written.
    """
    if isinstance(here, dict) and isinstance(given, dict):
        return all(value is None or (name in here and has_all(here[name], value)) for name, value in given.items())
    if isinstance(here, list) and isinstance(given, list) and all(isinstance(each, dict) for each in (*here, *given)):
        return all(any(has_all(other, each) for other in here) for each in given)
    return here == given or (isinstance(here, str) and isinstance(given, str | int) and _same_time(here, given))


def _same_time(one: str, other: str | int) -> bool:
    try:
        return moment(one) == moment(other)
    except InvalidInput:
        return False
