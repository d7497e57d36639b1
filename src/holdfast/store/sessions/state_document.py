"""A state as it is stored, and a patch merged into its bytes.

Nothing is parsed but the objects that the patch reaches into. The result has the bytes that parsing, `projection.merge`
and dumping would give. It is no deeper than the deeper of the two, because a patch puts its values where they are in
itself.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from holdfast.core import State, strict_json
from holdfast.core.errors import TooLarge
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import Head
from holdfast.store.log.rows import GET_STATE

EMPTY_STATE = b"{}"
SIMPLE = frozenset({str, bool, float})
"""Types of values that are written with all the others, and not one by one: a patch may have very many."""
BIG = 1 << 63


class StateDocument(NamedTuple):
    """A state as it is stored."""

    version: int = 0
    document: bytes = EMPTY_STATE
    updated_at: int = 0

    def parse(self, session_id: str) -> State:
        """The state as a caller sees it."""
        return State(session_id, self.version, strict_json.parse_own(self.document), self.updated_at)


def stored_state(tx: Tx, head: Head | None) -> StateDocument:
    """The session's state; version 0 if it never was."""
    row = None if head is None else tx.one(GET_STATE, head.session_no)
    return StateDocument() if row is None else StateDocument._make(row)


def merged(document: bytes, patch: Mapping[str, Any]) -> bytes:
    """The document after the patch: objects merge, arrays and scalars replace, null removes."""
    members: dict[str, Any] = dict(strict_json.members(document))
    for name, value in patch.items():
        if value is None:
            members.pop(name, None)
        elif isinstance(value, dict):
            under = bytes(members.get(name, EMPTY_STATE))
            members[name] = msgspec.Raw(merged(under if under.startswith(b"{") else EMPTY_STATE, value))
        elif type(value) in SIMPLE or (type(value) is int and abs(value) < BIG):
            members[name] = value
        else:
            members[name] = msgspec.Raw(strict_json.dump(value))
    return strict_json.join(members)


def check_size(size: int, before: int, limit: int) -> None:
    """TooLarge if a document is over the limit, unless the patch made a larger one smaller."""
    if size > limit and size >= before:
        raise TooLarge(
            f"the state would have {size} bytes",
            hint="keep large things as events or attachments and their names in the state; null removes a member",
            limit=limit,
            size=size,
        )
