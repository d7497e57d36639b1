"""Finds an adapter's factory by name: `package.module:factory`, or `folder/file.py:factory`.

Every client is a process that loads this, so errors are imported only where there is one.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.core.errors import InvalidInput

DEFAULT_FACTORY = "factory"
HINT = "write --adapter package.module:factory or --adapter folder/file.py:factory"


def split(spec: str) -> tuple[str, str]:
    """The module (or file) and the factory of an adapter's name; the factory may be left out."""
    module, colon, factory = spec.rpartition(":")
    if not colon:
        module, factory = spec, DEFAULT_FACTORY
    if not module or not factory.isidentifier():
        raise _refusal(f"{spec!r} names no adapter")
    if module.endswith(".py") and not Path(module).is_file():
        raise _refusal(f"there is no file {module}")
    return module, factory


def load(spec: str) -> Callable[[Path], Any]:
    """The factory itself. What an adapter's module raises while it is imported is raised here."""
    module, name = split(spec)
    loaded = _from_file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
    factory = getattr(loaded, name, None)
    if not callable(factory):
        raise _refusal(f"{module} has no {name}")
    found: Callable[[Path], Any] = factory
    return found


def _from_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"adapter_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Adapters that share a file import it by its name.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _refusal(message: str) -> "InvalidInput":
    from holdfast.core.errors import InvalidInput

    return InvalidInput(message, hint=HINT)
