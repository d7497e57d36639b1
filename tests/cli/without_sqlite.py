"""Our command line where nobody can open a SQLite file: `python -m tests.cli.without_sqlite sessions ls …`."""

import sys
from typing import Any

import apsw

from holdfast.cli import main


class Connection:
    """What a store's file is opened with, refused."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise SystemExit("the store's file was opened")


if __name__ == "__main__":
    apsw.Connection = Connection  # type: ignore[assignment,misc]
    main(sys.argv[1:])
