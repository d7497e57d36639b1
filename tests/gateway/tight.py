"""A real gateway process whose limits are small: `python -m tests.gateway.tight DATA LIMITS PARSER`."""

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from tests.gateway.process import Running
from tests.support.processes import Process, first_line, holdfast, python

MODULE = "tests.gateway.tight"


@contextmanager
def tight(data: Path, parser: str = "httptools", **limits: Any) -> Iterator[Running]:
    """A gateway with these limits, and this parser of HTTP."""
    words = (str(data), json.dumps(limits), parser)
    # A process that is forked has imported the other parser.
    starting: AbstractContextManager[Process] = (
        python("-m", MODULE, *words) if parser == "h11" else holdfast(*words, module=MODULE)
    )
    with starting as process:
        yield Running(process, first_line(process).strip())


def main(data: str, limits: str, parser: str) -> None:
    """Be that process."""
    if parser == "h11":
        sys.modules["httptools"] = None  # type: ignore[assignment]

    from holdfast.gateway.agent import Model
    from holdfast.gateway.connections.limits import ConnectionLimits
    from holdfast.gateway.serve import Options, StartReport, serve

    def announce(started: StartReport) -> None:
        sys.stdout.write(f"{started.url}\n")
        sys.stdout.flush()

    options = Options("127.0.0.1", 0, Path(data), None, Model(), limits=ConnectionLimits(**json.loads(limits)))
    serve(options, announce)


if __name__ == "__main__":
    main(*sys.argv[1:])
