"""The requirements that tests name in their docstrings, and the rows of the page that lists them.

A test says what it shows on lines of its own: the version, the section, and the requirement in our words. The page has
one row for each, and rows with a reason for requirements that have no test.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "a2a-conformance.md"

_NAMED = re.compile(r"^\s*(1\.0|0\.3) §([\d.]+): (.+?)\.?$", re.M)
_ROW = re.compile(r"^\| §(\S+) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
_TEST = re.compile(r"`(test_\w+)` in \[\w+\.py\]\(\.\./tests/a2a/conformance/(\w+\.py)\)")


class Shown(NamedTuple):
    """A requirement, and the test that shows it."""

    version: str
    section: str
    words: str
    test: str
    file: str


class Row(NamedTuple):
    """A requirement on the page; no test where `holds` says why there is none."""

    version: str
    section: str
    words: str
    holds: str
    test: str | None = None
    file: str | None = None


def shown() -> list[Shown]:
    """What the tests say that they show."""
    found = []
    for file in sorted(HERE.glob("test_v*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                named = _NAMED.findall(ast.get_docstring(node) or "")
                assert named, f"{file.name}::{node.name} names no requirement"
                found += [Shown(version, section, words, node.name, file.name) for version, section, words in named]
    return found


def rows() -> list[Row]:
    """The rows of the page."""
    found = []
    for part in re.split(r"^## Version ", PAGE.read_text(), flags=re.M)[1:]:
        version = part.split(None, 1)[0]
        for section, words, holds, test in _ROW.findall(part):
            named = _TEST.fullmatch(test)
            found.append(Row(version, section, words, holds, *(named.groups() if named else ())))
    return found


def row_of(requirement: Shown, holds: str = "yes") -> str:
    """The row for what a test shows."""
    link = f"[{requirement.file}](../tests/a2a/conformance/{requirement.file})"
    return f"| §{requirement.section} | {requirement.words} | {holds} | `{requirement.test}` in {link} |"
