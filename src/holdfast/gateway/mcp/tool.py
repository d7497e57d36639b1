"""A tool: a name, the types of its arguments and its result, what it does to the store, and the request that it is.

The same types check the arguments and describe them to clients. A page that would be too large is asked for again with
half the limit: its cursor goes on from where it ends, so nothing is left out.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import msgspec

from holdfast.gateway.api.body import shaped
from holdfast.gateway.mcp.service import MOST_BYTES, MOST_VALUES, AnswerTooLarge, RouteRequest, SessionService, count_of

LOCAL = "#/$defs/{name}"


@dataclass(frozen=True, slots=True)
class ToolEffects:
    """What a tool does to what is kept: nothing; else whether it replaces or takes away anything that a reader would
    have found before, and whether the same call again does nothing more."""

    reads: bool = False
    replaces: bool = False
    repeatable: bool = False


READS = ToolEffects(reads=True, repeatable=True)
ADDS = ToolEffects()
REPLACES = ToolEffects(replaces=True)
REPLACES_ONCE = ToolEffects(replaces=True, repeatable=True)


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool. `request` makes a request of the arguments; `view` makes the result of the route's answer, if that is
    not the result already."""

    name: str
    title: str
    description: str
    effects: ToolEffects
    arguments: Any
    result: Any
    request: Callable[[Any], RouteRequest]
    view: Callable[[Any, bytes], bytes] | None = None

    async def call(self, service: SessionService, arguments: dict[str, Any]) -> bytes:
        """The JSON of the result; a HoldfastError says what is wrong."""
        given = shaped(arguments, self.arguments, "the tool")
        found = await ask_for_page(service, self.request(given))
        return found if self.view is None else self.view(given, found)

    def input_schema(self) -> dict[str, Any]:
        """What the arguments may be."""
        return deepcopy(_schema(self.arguments))

    def output_schema(self) -> dict[str, Any]:
        """What the result is."""
        return deepcopy(_schema(self.result))


async def ask_for_page(service: SessionService, request: RouteRequest) -> bytes:
    """The answer; of a page that is too large, its first half, and so on down to one entry."""
    while True:
        try:
            found = await service.ask(request)
            if (number := count_of(found)) > MOST_VALUES and request.most_bytes <= MOST_BYTES:
                raise AnswerTooLarge(f"the answer has {number} arrays and objects", limit=MOST_VALUES)
            return found
        except AnswerTooLarge:
            limit = request.query.get("limit")
            if limit is None or limit == 1:
                raise
            request = replace(request, query={**request.query, "limit": limit // 2})


@cache
def _schema(shape: Any) -> dict[str, Any]:
    """A type as a JSON Schema that is an object at its root, as MCP has it, with the others in `$defs`."""
    _, found = msgspec.json.schema_components([shape], ref_template=LOCAL)
    root: dict[str, Any] = found.pop(shape.__name__)
    whole: dict[str, Any] = _for_every_dialect(root | ({"$defs": found} if found else {}))
    return whole


def _for_every_dialect(schema: Any) -> Any:
    """The schema in words that mean the same in every dialect: many clients read drafts before 2020-12, in which a
    tuple's `items: false` would mean that there are none."""
    if isinstance(schema, list):
        return [_for_every_dialect(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    written = {name: _for_every_dialect(value) for name, value in schema.items()}
    if "prefixItems" in written:
        kinds = written.pop("prefixItems")
        written["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
    return written
