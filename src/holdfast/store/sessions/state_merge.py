"""A patch merged into a state's bytes, of which nothing is parsed but the objects that the patch reaches into.

The result has the bytes that parsing, `projection.merge` and dumping would give. It is no deeper than the deeper of
the two, because a patch puts its values where they are in itself.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import TooLarge

EMPTY = b"{}"


def merged(document: bytes, patch: Mapping[str, Any]) -> bytes:
    """The document after the patch: objects merge, arrays and scalars replace, null removes."""
    members = strict_json.members(document)
    for name, value in patch.items():
        if value is None:
            members.pop(name, None)
        elif isinstance(value, dict):
            under = bytes(members.get(name, EMPTY))
            members[name] = msgspec.Raw(merged(under if under.startswith(b"{") else EMPTY, value))
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
