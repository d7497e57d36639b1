"""An event as one line for people."""

from typing import Any

from holdfast.cli.columns import cut, plain, styled, terminal_width, width_of
from holdfast.cli.show import compact
from holdfast.core import types

MOST_SHOWN = 2_000


def line_of(event: dict[str, Any], session_id: str | None = None) -> str:
    """Time, session if it is not clear, seq, type, and what it says, cut to the terminal."""
    when = event["timestamp"].replace("T", " ").removesuffix("Z")
    kind = plain(event["type"].removeprefix(types.PREFIX))
    place = f"{plain(session_id)}  {event['seq']}" if session_id else f"{event['seq']:>5}"
    says = plain("(erased)" if event.get("erased") else compact(event.get("details"), MOST_SHOWN))
    room = terminal_width()
    if room is not None:
        kind = cut(kind, room - width_of(f"{when}  {place}  "))
        says = cut(says, room - width_of(f"{when}  {place}  {kind}  "))
    return f"{styled(when, dim=True)}  {place}  {styled(kind, bold=True)}  {says}".rstrip()
