"""A script of SQL as its statements.

A semicolon ends a statement unless it is in a string, a quoted name, a comment, a dollar-quoted body (PostgreSQL), the
body of a trigger (SQLite) or one that begins with BEGIN ATOMIC. Comments are left out. What never ends is refused: a
statement that swallowed the rest of its script would be worse.
"""

import re
from collections.abc import Sequence

COMMON = r"""
    (?P<comment>--[^\n]*)
    |(?P<block>/\*)
    |(?P<text>(?<![\w$])[eE]'(?:[^'\\]|''|\\.)*+' | (?<!(?<![\w$])[eE])'(?:[^']|'')*+' | "(?:[^"]|"")*+"{quoted})
    |(?P<endless>(?<![\w$])[eE]' | ' | "{opening})
    |(?P<dollar>{dollar})
    |(?P<word>[^\W\d][\w$]*)
    |(?P<end>;)"""
TOKENS = {
    "sqlite": COMMON.format(quoted=r" | `(?:[^`]|``)*+` | \[[^\]]*+\]", opening=r" | ` | \[", dollar="(?!)"),
    "postgres": COMMON.format(quoted="", opening="", dollar=r"(?<![\w$])\$(?:[^\W\d]\w*)?\$"),
}
SCANNERS = {engine: re.compile(tokens, re.VERBOSE | re.DOTALL) for engine, tokens in TOKENS.items()}
COMMENT_EDGE = re.compile(r"/\*|\*/")


def statements(script: str, engine: str) -> list[str]:
    """The statements of a script for an engine, each without its semicolon; ValueError if something never ends."""
    found: list[str] = []
    parts: list[str] = []
    words: list[str] = []
    depth = at = 0
    while (token := SCANNERS[engine].search(script, at)) is not None:
        parts.append(script[at : token.start()])
        start, at = token.span()
        match token.lastgroup:
            case "comment":
                continue
            case "block":
                at = _end_of_comment(script, start)
                parts.append(" ")
                continue
            case "endless":
                raise _endless(script, start)
            case "dollar":
                at = script.find(token[0], at) + len(token[0])
                if at < start + 2 * len(token[0]):
                    raise _endless(script, start)
            case "word":
                words.append(token[0].upper())
                depth = _depth(depth, words)
            case "end" if not depth:
                found.append("".join(parts))
                parts, words = [], []
                continue
        parts.append(script[start:at])
    if depth:
        raise ValueError("the body of the last statement never ends")
    found.append("".join(parts) + script[at:])
    return [statement for each in found if (statement := each.strip())]


def _depth(before: int, words: Sequence[str]) -> int:
    """How many bodies and CASEs of a statement are open after its last word."""
    last = words[-1]
    if before:
        return before + (last == "CASE") - (last == "END")
    if words[0] != "CREATE":
        return 0
    trigger = last == "BEGIN" and "TRIGGER" in words[1:3]
    return int(trigger or tuple(words[-2:]) == ("BEGIN", "ATOMIC"))


def _end_of_comment(script: str, start: int) -> int:
    """Where a comment ends that may have others in it."""
    depth = 0
    for edge in COMMENT_EDGE.finditer(script, start):
        depth += 1 if edge[0] == "/*" else -1
        if not depth:
            return edge.end()
    raise _endless(script, start)


def _endless(script: str, start: int) -> ValueError:
    line = script.count("\n", 0, start) + 1
    return ValueError(f"what begins in line {line} with {script[start : start + 20]!r} never ends")
