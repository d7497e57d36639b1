"""The deliberately broken runtimes, which show that the proofs can fail (see `holdfast.prove.broken`)."""

import sys
from pathlib import Path

from holdfast.prove.targets.process import Launch


def broken(kind: str, data: Path, port: int) -> Launch:
    """A process that runs one kind of broken runtime."""
    module = "holdfast.prove.broken"
    return Launch(
        name=f"broken:{kind}",
        command=(sys.executable, "-m", module, kind, "--port", str(port), "--data", str(data)),
        port=port,
        ready_paths=("/readyz",),
        workspace=data / "workspace",
    )
