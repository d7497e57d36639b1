"""The house stays in order: rooms of a size that can be looked over, and a class name that means one thing."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "holdfast"
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_MODULES = 20
MOST_LINES = 450


def classes(module: Path) -> list[str]:
    """The classes of a module that others may use."""
    found = (node for node in ast.parse(module.read_text()).body if isinstance(node, ast.ClassDef))
    return [each.name for each in found if not each.name.startswith("_")]


def test_a_class_name_means_one_thing() -> None:
    counted = Counter(name for module in MODULES for name in classes(module))
    assert len(counted) > 500
    assert [name for name, times in counted.items() if times > 1] == []


def test_no_room_is_too_full() -> None:
    rooms = Counter(module.parent for module in MODULES if module.name != "__init__.py")
    assert [room for room, modules in rooms.items() if modules > MOST_MODULES] == []


def test_no_module_is_too_long() -> None:
    assert [module for module in MODULES if len(module.read_text().splitlines()) > MOST_LINES] == []
