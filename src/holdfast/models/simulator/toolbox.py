"""The tool that fits a wish, among those that a request offers, and the arguments to call it with.

A tool fits by the words of its name (and, for memory, of its description) and by its schema: it must have somewhere
to put what is wanted. What else it requires is filled in with the first thing its schema allows.

Some runtimes hide their tools until they are searched for: they name them in the prompt and offer them after a search
(`ToolSearch`), or list what they found in the result of the search (`tool_search`) and have it called through another
tool (`tool_call`). And some want to be told by a tool, or by a piece of code, that an answer is the last word.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.messages import PromptMessage, PromptRole, Tool
from holdfast.models.simulator import given_texts
from holdfast.models.simulator.language import (
    AppendLine,
    AskAgent,
    AskUser,
    ReadWish,
    RecallWish,
    Remember,
    UseSkill,
    UseTools,
    Wish,
    WriteWish,
    statements,
)
from holdfast.models.simulator.prompt import Utterance
from holdfast.models.simulator.steps_in_words import FINAL

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
USE = ("use", "view", "read", "load", "get", "show", "run")
SHELL = frozenset({"bash", "shell", "terminal", "exec"})


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool and the arguments to call it with."""

    name: str
    arguments: dict[str, Any]


def fitting_call(wish: Wish, tools: Sequence[Tool], memory_file: str | None = None) -> PlannedCall | None:
    """The call that grants a wish; None if no tool that is offered can.

    Without a memory tool, what is to be remembered goes into `memory_file`, if the runtime has named one.
    """
    if isinstance(wish, UseTools):
        return _asked_for(wish.text, tools)
    for tool in _for_memory(tools) if isinstance(wish, Remember | RecallWish) else tools:
        arguments = _arguments(wish, tool)
        if arguments is not None:
            return PlannedCall(tool.name, arguments)
    match wish:
        case AppendLine():
            return _shell(f"printf '%s\\n' {shlex.quote(wish.text)} >> {shlex.quote(wish.path)}", tools)
        case UseSkill():
            return fitting_call(ReadWish(f"skills/{wish.name}/SKILL.md"), tools)
        case Remember() if memory_file:
            return fitting_call(AppendLine(memory_file, wish.text), tools) or fitting_call(
                WriteWish(memory_file, wish.text), tools
            )
    return None


def _for_memory(tools: Sequence[Tool]) -> Sequence[Tool]:
    """The tools that may be for memory: beside one of that name that offers actions, none that only speaks of it."""
    named = [tool for tool in tools if words_of(tool.name) & MEMORY]
    return named if any(_actions(tool)[1] for tool in named) else tools


def words_of(name: str) -> set[str]:
    """The words that a name is made of: `save_memory`, `saveMemory` and `memory-save` have the same two."""
    return {word.lower() for word in WORD.findall(name)}


def properties(tool: Tool) -> dict[str, Any]:
    """The arguments that a tool has."""
    found = tool.parameters.get("properties")
    return found if isinstance(found, dict) else {}


def fill_in(tool: Tool, given: Iterable[tuple[Sequence[str], Any]]) -> dict[str, Any] | None:
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
        case AppendLine() if "append" in words and not words & MEMORY:
            return fill_in(tool, [(PATH, wish.path), (CONTENT, wish.text)])
        case WriteWish() if words & {"write", "create"} and not words & MEMORY:
            return fill_in(tool, [(PATH, wish.path), (CONTENT, wish.text)])
        case ReadWish() if words & {"read", "view", "open"} and not words & MEMORY:
            return fill_in(tool, [(PATH, wish.path)])
        case Remember():
            return _remembering(wish, tool, words)
        case RecallWish():
            return _recalling(wish, tool, words)
        case UseSkill() if words & {"skill", "skills"}:
            return _with_action(tool, USE, [(("name", "skill", "skill_name", "command"), wish.name)])
        case AskAgent() if words & {"agent", "peer", "delegate"}:
            return fill_in(tool, [(("url", "agent_url", "address", "agent"), wish.url), (QUESTION, wish.text)])
        case AskUser() if words & {"user", "human"} and words & {"ask", "question"}:
            return fill_in(tool, [(QUESTION, wish.question)])
    return None


def _asked_for(text: str, tools: Sequence[Tool]) -> PlannedCall | None:
    """The call that a given text asks for first, of a tool whose name begins with a word of it."""
    found: list[tuple[int, PlannedCall]] = []
    for tool in tools:
        required = [name for name in tool.parameters.get("required") or () if isinstance(name, str)]
        place = given_texts.place_of([word.lower() for word in WORD.findall(tool.name)], text)
        optional = [name for name in properties(tool) if name not in required]
        arguments = given_texts.arguments_for(required, optional, text)
        if place is not None and arguments is not None:
            found.append((place, PlannedCall(tool.name, arguments)))
    return min(found, key=lambda at: at[0])[1] if found else None


def _remembering(wish: Remember, tool: Tool, words: set[str]) -> dict[str, Any] | None:
    given: list[tuple[Sequence[str], Any]] = [(FACT, wish.text)]
    facts = statements(wish.text)
    if KEY[0] in properties(tool):
        given.insert(0, (KEY, facts[0].thing if facts else " ".join(wish.text.split()[:3])))
    return _of_memory(tool, words, SAVE, given)


def _recalling(wish: RecallWish, tool: Tool, words: set[str]) -> dict[str, Any] | None:
    return _of_memory(tool, words, FIND, [(QUERY, wish.thing)])


def _of_memory(
    tool: Tool, words: set[str], verbs: Sequence[str], given: list[tuple[Sequence[str], Any]]
) -> dict[str, Any] | None:
    """Arguments for a memory tool that has one of the verbs in its name, or among the actions that it offers."""
    if words & MEMORY and _actions(tool)[0]:
        return _with_action(tool, verbs, given)
    about_memory = words & MEMORY or words_of(tool.description) & MEMORY
    return fill_in(tool, given) if about_memory and words & set(verbs) else None


def _with_action(tool: Tool, verbs: Sequence[str], given: list[tuple[Sequence[str], Any]]) -> dict[str, Any] | None:
    """Arguments for a tool: if it offers actions, one of the verbs must be among them."""
    action, offered = _actions(tool)
    if action is None:
        return fill_in(tool, given)
    verb = next((verb for verb in verbs if verb in offered), None)
    return fill_in(tool, [((action,), verb), *given]) if verb else None


def _actions(tool: Tool) -> tuple[str | None, list[str]]:
    for name in ACTION:
        schema = properties(tool).get(name)
        if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
            return name, [verb for verb in schema["enum"] if isinstance(verb, str)]
    return None, []


def _shell(command: str, tools: Sequence[Tool]) -> PlannedCall | None:
    for tool in tools:
        if words_of(tool.name) & SHELL:
            arguments = fill_in(tool, [(("command", "cmd"), command)])
            if arguments is not None:
                return PlannedCall(tool.name, arguments)
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


SEARCHES = frozenset({"ToolSearch", "tool_search"})
CALLER = "tool_call"
TOOL_NAME = re.compile(r"\bmcp__\w+")

SEARCH_WORDS: dict[type[Wish], str] = {
    AppendLine: "append file",
    WriteWish: "write file",
    ReadWish: "read file",
    Remember: "save memory",
    RecallWish: "recall memory",
    UseSkill: "skill",
    AskAgent: "ask agent",
    AskUser: "ask user",
    UseTools: "tools",
}
USUAL_SCHEMA = {
    "type": "object",
    "properties": {name: {} for name in ("path", "content", "query", "name", "url", "text")},
}


def is_search(result: Utterance) -> bool:
    """Whether a result is that of a search for tools."""
    return result.call is not None and result.call.name in SEARCHES


def search_for(wish: Wish, tools: Sequence[Tool], heard: Sequence[Utterance]) -> PlannedCall | None:
    """The search for a tool that grants a wish, if tools can be searched for."""
    for tool in tools:
        if tool.name in SEARCHES:
            named = fitting_call(wish, [Tool(name, "", USUAL_SCHEMA) for name in _names_in(heard)])
            query = f"select:{named.name}" if named else SEARCH_WORDS[type(wish)]
            arguments = fill_in(tool, [(QUERY, query)])
            return PlannedCall(tool.name, arguments) if arguments is not None else None
    return None


def call_through(wish: Wish, tools: Sequence[Tool], searches: Sequence[Utterance]) -> PlannedCall | None:
    """The call that grants a wish with a tool that a search has found."""
    caller = next((tool for tool in tools if tool.name == CALLER), None)
    found = fitting_call(wish, [tool for result in searches for tool in _tools_in(result)])
    if not caller or not found:
        return None
    arguments = fill_in(
        caller,
        [
            (("name", "tool", "tool_name", "id"), found.name),
            (("arguments", "args", "input", "params"), found.arguments),
        ],
    )
    return PlannedCall(caller.name, arguments) if arguments is not None else None


def _names_in(heard: Sequence[Utterance]) -> list[str]:
    text = "\n".join(said.words for said in heard if said.role == PromptRole.SYSTEM)
    return list(dict.fromkeys(TOOL_NAME.findall(text)))


def _tools_in(result: Utterance) -> Iterator[Tool]:
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
        schema = next((schema for schema in schemas if isinstance(schema, dict)), USUAL_SCHEMA)
        if isinstance(name, str):
            yield Tool(name, str(value.get("description", "")), schema)


def last_word(words: str, tools: Sequence[Tool], messages: Sequence[PromptMessage]) -> tuple[str, PlannedCall | None]:
    """The words as they are to be said, and the call to be made instead if there is a tool for it."""
    for tool in tools:
        arguments = fill_in(tool, [(("answer", "text", "output"), words)]) if tool.name == FINAL else None
        if arguments is not None:
            return "", PlannedCall(tool.name, arguments)
    system = [message.text for message in messages if message.role == PromptRole.SYSTEM]
    if any(f"{FINAL}(" in text and "<code>" in text for text in system):
        return f"<code>\n{FINAL}({words!r})\n</code>", None
    return words, None
