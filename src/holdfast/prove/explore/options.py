"""What exploration can be asked for: the target and its surroundings as the proof's, and how much and what of."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.prove.explore.histories.draft import FAMILIES, FAULT_KINDS, LONGEST_PAUSE, Bounds
from holdfast.prove.runtime.options import RuntimeOptions

FAULT_CHOICES = ("none", *FAULT_KINDS, "all")
ALL = "all"
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
RANGES = {"histories": (1, math.inf), "confirm": (1, math.inf), "side_by_side": (1, 64), "seed": (0, math.inf)}


def seconds(option: str, given: str | float) -> float:
    """A time in seconds: a number of them, or words such as 60s, 10m or 1h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(given).strip())
    if not found or float(found[1]) == 0:
        raise InvalidInput(f"{option} {given} is not a time", hint=f"for example {option} 60s, 10m or 1h")
    return float(found[1]) * UNITS[found[2]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreOptions(RuntimeOptions):
    """How long or how many, which faults, how sure, and which history to replay; a profile is a family here."""

    budget: float = 60.0
    histories: int | None = None
    faults: str = "all"
    confirm: int = 3
    side_by_side: int = 1
    longest_pause: float = LONGEST_PAUSE / 1000
    replay: Path | None = None

    def bounds(self) -> Bounds:
        """What a history may consist of. A foreign target is explored for what every agent can do."""
        families = self.profiles or (FAMILIES[:1] if self.foreign else FAMILIES)
        families = FAMILIES if ALL in families else families
        kinds = {"none": (), "all": FAULT_KINDS}.get(self.faults, (self.faults,))
        return Bounds(
            frozenset(families),
            frozenset(kinds) & self._possible_faults(),
            twins=not self.foreign,
            longest_pause=round(self.longest_pause * 1000),
        )

    def check(self) -> None:
        """InvalidInput if options contradict each other or name what is not there."""
        RuntimeOptions.check(self)
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and least <= value <= most):
                upper = "" if math.isinf(most) else f", and {most} at most"
                raise InvalidInput(
                    f"--{name.replace('_', '-')} {value} is out of range",
                    hint=f"a whole number, at least {least}{upper}",
                )
        if unknown := sorted(set(self.profiles) - {*FAMILIES, ALL}):
            raise InvalidInput(f"there is no profile {', '.join(unknown)}", hint=f"one of {', '.join(FAMILIES)}, all")
        if self.faults not in FAULT_CHOICES:
            raise InvalidInput(f"there are no faults {self.faults!r}", hint=f"one of {', '.join(FAULT_CHOICES)}")
        if self.faults in FAULT_KINDS and self.faults not in self._possible_faults():
            raise InvalidInput(
                f"there is no way to {self.faults} this target",
                hint="a target that is started by --command can be stopped, killed and paused; one with "
                "--restart-command can be stopped and killed",
            )

    def _possible_faults(self) -> frozenset[str]:
        """The faults that there is a way to do: only a process of our own can be paused."""
        if self.target is not None:
            return frozenset(FAULT_KINDS if self.target.restartable else ())
        if self.choice.url is None:
            return frozenset(FAULT_KINDS)
        return frozenset({"stop", "kill"} if self.choice.restart_command else ())

    def workers(self) -> int:
        """How many targets run side by side; one where they would be in each other's way."""
        shared = self.choice.url or self.choice.port or self.choice.store or self.target
        return 1 if shared else self.side_by_side
