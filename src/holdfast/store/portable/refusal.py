"""How this package refuses what it reads: one error type, which says where and why."""

from typing import Any

from holdfast.core.errors import BadArchive, InvalidInput, InvalidJson


def refuse(reason: str, message: str, member: str | None = None, line: int | None = None) -> BadArchive:
    """The error for `reason`, a short stable word; the message begins with the place."""
    place = "" if member is None else f"{member}: " if line is None else f"{member}, line {line}: "
    where: dict[str, Any] = {} if member is None else {"member": member}
    if line is not None:
        where["line"] = line
    return BadArchive(place + message, reason=reason, **where)


def refuse_line(error: InvalidInput, member: str, line: int | None = None) -> BadArchive:
    """The error for a line that breaks the rules for lines, or whose payload is not JSON."""
    refusal = refuse("json" if isinstance(error, InvalidJson) else "line", error.message, member, line)
    refusal.hint = error.hint or refusal.hint
    return refusal


def shown(name: bytes) -> str:
    """A name that cannot be trusted, as it may be printed."""
    return ascii(name.decode("utf-8", "backslashreplace"))[1:-1][:100]
