"""Running `holdfast prove explore` as a process of its own."""

from pathlib import Path

from tests.prove.prover import DEAD_PROXY, Proved
from tests.support.processes import holdfast


def explore(*arguments: str, artifacts: Path, within: float = 300.0) -> Proved:
    """Run the command to its end, for so many seconds at most; its evidence goes below `artifacts`."""
    words = ("prove", "explore", "--artifacts", str(artifacts), *arguments)
    with holdfast(*words, variables={**DEAD_PROXY, "COLUMNS": "200"}) as process:
        out, err = process.communicate(within)
        return Proved(process.wait(), out, err)
