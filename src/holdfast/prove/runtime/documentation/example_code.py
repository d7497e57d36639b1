"""Parts of the examples by name (`Executor.execute`, `read`), so that a page can show code that runs in the tests."""

import ast
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

EXAMPLES = ("sdk_durable.py", "sdk_memory.py")
"""The agents on the official SDK, in the order in which a name is looked for."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A class, a function or a method of an example."""

    file: str
    code: str


def excerpts(folder: Path) -> dict[str, Excerpt]:
    """What the examples in the folder consist of, by name."""
    found: dict[str, Excerpt] = {}
    for file in EXAMPLES:
        source = (folder / file).read_text(encoding="utf-8")
        for name, node in _parts(ast.parse(source)):
            code = dedent(ast.get_source_segment(source, node, padded=True) or "")
            found.setdefault(name, Excerpt(file, code))
    return found


def _parts(module: ast.Module) -> list[tuple[str, ast.stmt]]:
    parts: list[tuple[str, ast.stmt]] = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts.append((node.name, node))
        elif isinstance(node, ast.ClassDef):
            parts.append((node.name, node))
            inner = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            parts += [(f"{node.name}.{each.name}", each) for each in inner]
    return parts
