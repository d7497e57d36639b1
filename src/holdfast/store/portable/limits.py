"""How large an archive may be, for whoever writes or reads one."""

from dataclasses import dataclass

from holdfast.store.log.prepare import MAX_PAYLOAD


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused beyond. A writer keeps to the same limits, so that what it wrote can be read."""

    members: int = 1_000_000
    inflated_bytes: int = 64 * 1024**3
    ratio: int = 200
    """How many bytes may come out of one, for members of more than `ratio_floor` bytes."""
    ratio_floor: int = 1024**2
    line_bytes: int = 2 * MAX_PAYLOAD + 64 * 1024
    """One line of a member: a payload whose every byte is escaped, and the names around it."""


DEFAULT = Limits()
