"""Workers import the test modules in an order of their own, so that in a fresh clone they share the work of compiling.

In the same order each of them would rewrite the asserts of every module, all at the same moment. So each begins at
another place, and finds what the others have left in `__pycache__`. What is collected, and its order, stay the same.
"""

from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest


def import_all(config: pytest.Config) -> None:
    """Import every test module, where all are to be collected; one that cannot be is left to the collection."""
    worker: dict[str, object] | None = getattr(config, "workerinput", None)
    folders = [config.rootpath / folder for folder in config.getini("testpaths")]
    if worker is None or [config.rootpath / Path(argument) for argument in config.args] != folders:
        return
    paths = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    number, workers = int(str(worker["workerid"]).removeprefix("gw")), int(str(worker["workercount"]))
    first = len(paths) * number // workers
    for path in paths[first:] + paths[:first]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))
