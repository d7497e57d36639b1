"""The tool that fits a wish, among those that a request offers, and the arguments to call it with.

A tool fits by the words of its name (and, for memory, of its description) and by its schema: it must have somewhere
to put what is wanted. What else it requires is filled in with the first thing its schema allows.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.models.messages import Tool
from holdfast.models.simulator.commands import Append, AskAgent, Read, Recall, Remember, UseSkill, Wish, Write
from holdfast.models.simulator.facts import stated

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

PATH = ("file_path", "path", "filename", "file_name", "filepath", "file")
CONTENT = ("content", "contents", "text", "file_text", "data", "line", "body")
FACT = ("content", "text", "fact", "memory", "value", "note", "information", "data", "body", "entry", "message")
KEY = ("key", "name", "topic", "title", "subject")
QUERY = ("query", "q", "key", "topic", "question", "search", "text", "name", "subject")
ACTION = ("action", "command", "operation", "op", "mode", "method")
QUESTION = ("text", "message", "question", "prompt", "input", "query")

MEMORY = frozenset({"memory", "memories", "mem", "remember", "recall", "fact", "facts"})
SAVE = ("save", "add", "remember", "store", "write", "put", "set", "create", "insert", "upsert", "append", "keep")
FIND = ("recall", "search", "get", "read", "query", "find", "retrieve", "lookup", "view", "load", "fetch", "list")
SHELL = frozenset({"bash", "shell", "terminal", "exec"})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool and the arguments to call it with."""

    name: str
    arguments: dict[str, Any]


def fitting(wish: Wish, tools: Sequence[Tool], memory_file: str | None = None) -> Call | None:
    """The call that grants a wish; None if no tool that is offered can.

    Without a memory tool, what is to be remembered goes into `memory_file`, if the runtime has named one.
    """
    for tool in tools:
        arguments = _arguments(wish, tool)
        if arguments is not None:
            return Call(tool.name, arguments)
    match wish:
        case Append():
            return _shell(f"printf '%s\\n' {shlex.quote(wish.text)} >> {shlex.quote(wish.path)}", tools)
        case UseSkill():
            return fitting(Read(f"skills/{wish.name}/SKILL.md"), tools)
        case Remember() if memory_file:
            return fitting(Append(memory_file, wish.text), tools) or fitting(Write(memory_file, wish.text), tools)
    return None


def words_of(name: str) -> set[str]:
    """The words that a name is made of: `save_memory`, `saveMemory` and `memory-save` have the same two."""
    return {word.lower() for word in WORD.findall(name)}


def properties(tool: Tool) -> dict[str, Any]:
    """The arguments that a tool has."""
    found = tool.parameters.get("properties")
    return found if isinstance(found, dict) else {}


def filled(tool: Tool, given: Iterable[tuple[Sequence[str], Any]]) -> dict[str, Any] | None:
    """Arguments for a tool with each value under the first of its names that the tool has; None if it has none."""
    schema, arguments = properties(tool), {}
    for names, value in given:
        name = next((name for name in names if name in schema and name not in arguments), None)
        if name is None:
            return None
        arguments[name] = value
    for name in tool.parameters.get("required") or ():
        if name not in arguments:
            arguments[name] = _anything(schema.get(name))
    return arguments


def _arguments(wish: Wish, tool: Tool) -> dict[str, Any] | None:
    words = words_of(tool.name)
    match wish:
        case Append() if "append" in words and not words & MEMORY:
            return filled(tool, [(PATH, wish.path), (CONTENT, wish.text)])
        case Write() if words & {"write", "create"} and not words & MEMORY:
            return filled(tool, [(PATH, wish.path), (CONTENT, wish.text)])
        case Read() if words & {"read", "view", "open"} and not words & MEMORY:
            return filled(tool, [(PATH, wish.path)])
        case Remember():
            return _remembering(wish, tool, words)
        case Recall():
            return _recalling(wish, tool, words)
        case UseSkill() if words & {"skill", "skills"}:
            return filled(tool, [(("name", "skill", "skill_name", "command"), wish.name)])
        case AskAgent() if words & {"agent", "peer", "delegate"}:
            return filled(tool, [(("url", "agent_url", "address", "agent"), wish.url), (QUESTION, wish.text)])
    return None


def _remembering(wish: Remember, tool: Tool, words: set[str]) -> dict[str, Any] | None:
    given: list[tuple[Sequence[str], Any]] = [(FACT, wish.text)]
    facts = stated(wish.text)
    if KEY[0] in properties(tool):
        given.insert(0, (KEY, facts[0].thing if facts else " ".join(wish.text.split()[:3])))
    return _of_memory(tool, words, SAVE, given)


def _recalling(wish: Recall, tool: Tool, words: set[str]) -> dict[str, Any] | None:
    return _of_memory(tool, words, FIND, [(QUERY, wish.thing)])


def _of_memory(
    tool: Tool, words: set[str], verbs: Sequence[str], given: list[tuple[Sequence[str], Any]]
) -> dict[str, Any] | None:
    """Arguments for a memory tool that has one of the verbs in its name, or among the actions that it offers."""
    action, offered = _actions(tool)
    if action and words & MEMORY:
        verb = next((verb for verb in verbs if verb in offered), None)
        return filled(tool, [((action,), verb), *given]) if verb else None
    about_memory = words & MEMORY or words_of(tool.description) & MEMORY
    return filled(tool, given) if about_memory and words & set(verbs) else None


def _actions(tool: Tool) -> tuple[str | None, list[str]]:
    for name in ACTION:
        schema = properties(tool).get(name)
        if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
            return name, [verb for verb in schema["enum"] if isinstance(verb, str)]
    return None, []


def _shell(command: str, tools: Sequence[Tool]) -> Call | None:
    for tool in tools:
        if words_of(tool.name) & SHELL:
            arguments = filled(tool, [(("command", "cmd"), command)])
            if arguments is not None:
                return Call(tool.name, arguments)
    return None


def _anything(schema: Any) -> Any:
    """A value that a schema allows."""
    if not isinstance(schema, dict):
        return ""
    if "default" in schema:
        return schema["default"]
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed:
        return "user" if "user" in allowed else allowed[0]
    kinds: dict[Any, Any] = {"array": [], "object": {}, "boolean": False, "integer": 1, "number": 1}
    kind = schema.get("type")
    return kinds.get(kind, "") if isinstance(kind, str) else ""
