"""Tools that a runtime hides until they are searched for.

Some runtimes name their tools in the prompt and offer them after a search (`ToolSearch`); others list what they
found in the result of the search (`tool_search`) and have it called through another tool (`tool_call`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.messages import Role, Tool
from holdfast.models.simulator import toolbox
from holdfast.models.simulator.commands import Append, AskAgent, Read, Recall, Remember, UseSkill, Wish, Write
from holdfast.models.simulator.prompt import Heard
from holdfast.models.simulator.toolbox import Call

SEARCHES = frozenset({"ToolSearch", "tool_search"})
THROUGH = "tool_call"
NAMED = re.compile(r"\bmcp__\w+")

WORDS: dict[type[Wish], str] = {
    Append: "append file",
    Write: "write file",
    Read: "read file",
    Remember: "save memory",
    Recall: "recall memory",
    UseSkill: "skill",
    AskAgent: "ask agent",
}
USUAL = {"type": "object", "properties": {name: {} for name in ("path", "content", "query", "name", "url", "text")}}


def is_search(result: Heard) -> bool:
    """Whether a result is that of a search for tools."""
    return result.call is not None and result.call.name in SEARCHES


def search(wish: Wish, tools: Sequence[Tool], heard: Sequence[Heard]) -> Call | None:
    """The search for a tool that grants a wish, if tools can be searched for."""
    for tool in tools:
        if tool.name in SEARCHES:
            named = toolbox.fitting(wish, [Tool(name, "", USUAL) for name in _named(heard)])
            query = f"select:{named.name}" if named else WORDS[type(wish)]
            arguments = toolbox.filled(tool, [(toolbox.QUERY, query)])
            return Call(tool.name, arguments) if arguments is not None else None
    return None


def through(wish: Wish, tools: Sequence[Tool], searches: Sequence[Heard]) -> Call | None:
    """The call that grants a wish with a tool that a search has found."""
    caller = next((tool for tool in tools if tool.name == THROUGH), None)
    found = toolbox.fitting(wish, [tool for result in searches for tool in _found(result)])
    if not caller or not found:
        return None
    arguments = toolbox.filled(
        caller,
        [
            (("name", "tool", "tool_name", "id"), found.name),
            (("arguments", "args", "input", "params"), found.arguments),
        ],
    )
    return Call(caller.name, arguments) if arguments is not None else None


def _named(heard: Sequence[Heard]) -> list[str]:
    text = "\n".join(said.words for said in heard if said.role == Role.SYSTEM)
    return list(dict.fromkeys(NAMED.findall(text)))


def _found(result: Heard) -> Iterator[Tool]:
    try:
        yield from _declared(strict_json.parse(result.words.encode()))
    except InvalidJson:
        return


def _declared(value: Any) -> Iterator[Tool]:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _declared(item)
    if isinstance(value, dict):
        name = value.get("name") or value.get("id")
        schemas = (value.get(key) for key in ("parameters", "inputSchema", "input_schema", "schema"))
        schema = next((schema for schema in schemas if isinstance(schema, dict)), USUAL)
        if isinstance(name, str):
            yield Tool(name, str(value.get("description", "")), schema)
