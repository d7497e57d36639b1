"""The runtime that comes with Holdfast, as a gateway process with a fresh data folder."""

import os
import sys
from pathlib import Path

from holdfast.prove.targets.process import HOST, Launch

SETTINGS = ("HOLDFAST_", "OPENAI_", "ANTHROPIC_")


def bundled(data: Path, port: int, store: str | None) -> Launch:
    """`holdfast serve` on loopback; ready when the gateway itself says so.

    Settings of the user (environment, a file in the current folder) do not reach it: they could name a store that
    is in use, and the proof writes and kills, or a model that costs money and answers differently each time.
    """
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "serve",
        "--host",
        HOST,
        "--port",
        str(port),
        "--data",
        str(data),
    ]
    return Launch(
        name="bundled",
        command=(*command, "--store", store) if store else tuple(command),
        port=port,
        ready_paths=("/readyz",),
        workspace=data / "workspace",
        environment={name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)},
        folder=data,
    )
