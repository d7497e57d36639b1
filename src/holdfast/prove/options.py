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
from holdfast.prove.evidence import Evidence, open_evidence

ARTIFACTS = Path(".artifacts")


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
        return open_evidence(self.artifacts.resolve(), kind, SystemClock(), time.monotonic)
