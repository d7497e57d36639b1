"""What every prover can be asked for, by the command line or by a program; each adds what is its own.

Options are frozen and complete: a prover reads nothing else, and fills in no default of its own.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core import SystemClock
from holdfast.core.errors import InvalidInput
from holdfast.prove.evidence import Evidence, open_evidence

ARTIFACTS = Path(".artifacts")


def absolute(path: Path | str, option: str) -> Path:
    """The path from the root on; InvalidInput if its links lead nowhere."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):  # Python says one or the other of links that go round in circles
        raise InvalidInput(f"{option} {path} has links that go round in circles", hint="name another path") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProverOptions:
    """Which claims by name, the seed, where evidence goes, and how to show it.

    `arguments` is the same as it was written, for the evidence.
    """

    only: tuple[str, ...] = ()
    seed: int | None = None
    artifacts: Path = ARTIFACTS
    as_json: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def draw_seed(self) -> int:
        """The seed that was asked for; else one that nobody can foresee, and never the classic one."""
        return secrets.randbelow(999_999) + 1 if self.seed is None else self.seed

    def open_evidence(self, kind: str) -> Evidence:
        """A new folder for the evidence of a run."""
        return open_evidence(absolute(self.artifacts, "--artifacts"), kind, SystemClock(), time.monotonic, self.hide)

    def hide(self, value: Any) -> Any:
        """The value, however nested, without what only whoever asked may know."""
        return value
