"""A real gateway process whose limits are small: `python -m tests.gateway.tight DATA LIMITS PARSER`."""

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.gateway.process import PATIENCE, Running, environment


@contextmanager
def tight(data: Path, parser: str = "httptools", **limits: Any) -> Iterator[Running]:
    """A gateway with these limits, and this parser of HTTP."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.gateway.tight", str(data), json.dumps(limits), parser],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], PATIENCE)[0], "no word from the gateway"
            yield Running(process, process.stdout.readline().strip())
        finally:
            process.kill()


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
