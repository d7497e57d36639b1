"""No test changes a constant of a module: what a test must choose is a parameter of what it makes.

A patched constant reaches whatever else is open in the process, and no other process at all.
"""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*\Z")
PATCHES = {"setattr", "setitem", "delattr", "delitem", "patch", "object", "dict", "multiple"}


def patches_in(source: str) -> list[int]:
    """The lines that set a constant of a module, or replace what is in one."""
    found: list[int] = []
    tree = ast.parse(source)
    ours = _ours(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)) if name in PATCHES:
                found += [node.lineno] if _names_constant(node, ours) else []
            case ast.Assign(targets=targets):
                found += [node.lineno for target in targets if _is_constant_of_another(target)]
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target) if _is_constant_of_another(target):
                found.append(node.lineno)
    return found


def _ours(tree: ast.Module) -> set[str]:
    """What a test imports of ours, but for classes."""
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {each.asname or each.name for node in froms if "holdfast" in (node.module or "") for each in node.names}
    return {name for name in names if name.islower()}


def _names_constant(call: ast.Call, ours: set[str]) -> bool:
    """`setattr(module, "NAME", …)`, `setattr("module.NAME", …)`, `setitem(module.NAME, …)`; also `setattr(module, name,
    …)`, since what is only known when the test runs may be a constant."""
    first, second = [*call.args, None, None][:2]
    match first, second:
        case (ast.Constant(value=str(path)), _):
            return CONSTANT.match(path.rpartition(".")[2]) is not None
        case (_, ast.Constant(value=str(name))) if CONSTANT.match(name):
            return True
        case (ast.Attribute(attr=name), _) if CONSTANT.match(name):
            return True
        case (ast.Name(id=name), ast.Name()) if name in ours:
            return True
    return False


def _is_constant_of_another(target: ast.expr) -> bool:
    match target:
        case ast.Tuple(elts=several) | ast.List(elts=several):
            return any(map(_is_constant_of_another, several))
        case ast.Attribute(attr=name) | ast.Subscript(value=ast.Attribute(attr=name)):
            return CONSTANT.match(name) is not None
    return False


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(lane, "LOOK_SECONDS", 1)',
        'monkeypatch.setattr("holdfast.store.lanes.lane.LOOK_SECONDS", 1)',
        'monkeypatch.setitem(database.SETTINGS, "lock_timeout", "1s")',
        'stack.enter_context(mock.patch.object(lane, "PAGE", 1))',
        "space.KEEP_PAGES, space.STEP_SECONDS = 1, 0",
        "group.MAX_SECONDS = 60.0",
        'database.SETTINGS["lock_timeout"] = "1s"',
    ],
)
def test_a_patched_constant_is_seen(line: str) -> None:
    assert patches_in(f"if True:\n    {line}\n") == [2]


def test_a_constant_whose_name_is_not_written_out_is_seen() -> None:
    assert patches_in("from holdfast.store.lanes import shares\nmonkeypatch.setattr(shares, bound, 3)\n") == [2]


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(os, "fsync", full)',
        'monkeypatch.setattr("holdfast.a.time", clock)',
        "PAGE = 3",
        "a.page = 3",
    ],
)
def test_what_is_no_constant_of_a_module_may_be_set(line: str) -> None:
    assert patches_in(line) == []


def test_no_test_patches_a_constant() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in patches_in(path.read_text())
    ]
    assert found == [], "give it to the constructor or the function, for example StoreTuning"
