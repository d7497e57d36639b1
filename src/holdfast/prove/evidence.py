"""The folder that a run leaves behind: `events.jsonl`, `summary.json`, the target's logs and data.

Events are written as they happen, so that a run which is cut short still shows how far it came. No secret is in
either file: what looks like one, and what is known to be one (`hide`), is masked on the way in.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.core import Clock, strict_json
from holdfast.core.clock import to_iso
from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact, redact_value

MAX_BODY = 20_000


Hide = Callable[[Any], Any]


def hide_nothing(value: Any) -> Any:
    """The value as it is."""
    return value


class Evidence:
    """One run's folder, open for writing."""

    def __init__(self, folder: Path, monotonic: Callable[[], float], hide: Hide = hide_nothing) -> None:
        self.folder = folder
        self._hide = hide
        self._monotonic = monotonic
        self._began = monotonic()
        self._events = (folder / "events.jsonl").open("wb")
        self._count = 0
        self._listeners: list[Callable[[dict[str, Any]], None]] = []

    def listen(self, listener: Callable[[dict[str, Any]], None]) -> None:
        """From now on, show the listener every event as it is written."""
        self._listeners.append(listener)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._monotonic() - self._began

    def event(self, proof: str, step: str, event: str, **details: Any) -> None:
        """Append one event to the ordered history of the run."""
        self._count += 1
        head = {"n": self._count, "at": round(self.elapsed, 4), "proof": proof, "step": step, "event": event}
        written = self._hide(redact_value({**head, **details}))
        self._events.write(strict_json.encode(written) + b"\n")
        self._events.flush()
        for listener in self._listeners:
            listener(written)

    def within(self, name: str) -> "Evidence":
        """The evidence of one of several runs, in a folder of this name inside this one."""
        folder = self.folder / name
        folder.mkdir()
        return Evidence(folder, self._monotonic, self._hide)

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the summary and close; no event can follow."""
        self.close()
        (self.folder / "summary.json").write_bytes(pretty(self._hide(summary)))

    def close(self) -> None:
        """End the history; of a run that comes to no summary nothing but its events is there."""
        self._events.close()


def open_evidence(
    root: Path, kind: str, clock: Clock, monotonic: Callable[[], float], hide: Hide = hide_nothing
) -> Evidence:
    """A new folder `<root>/<kind>/<time>`, to which `<root>/<kind>/latest` points from now on.

    InvalidInput if it cannot be made there.
    """
    try:
        return Evidence(_latest_folder(root, kind, clock), monotonic, hide)
    except OSError as error:
        raise InvalidInput(
            f"evidence cannot be written to {root}: {error.strerror or error}",
            hint="name another folder: --artifacts DIR",
        ) from error


def body_for_events(body: bytes) -> Any:
    """A body as JSON where it is some, else as text, cut where it is very long and after the secrets are out."""
    with suppress(Exception):
        if len(body) <= MAX_BODY:
            return strict_json.parse(body)
    text = redact(body.decode(errors="replace"))
    return text if len(text) <= MAX_BODY else f"{text[:MAX_BODY]} … ({len(body):,} bytes in all)"


def pretty(document: dict[str, Any]) -> bytes:
    """JSON for people and programs: indented, in the order given."""
    import msgspec

    return msgspec.json.format(strict_json.dump(document), indent=2) + b"\n"


def _latest_folder(root: Path, kind: str, clock: Clock) -> Path:
    """Make the folder and point `latest` at it."""
    (root / kind).mkdir(parents=True, exist_ok=True)
    if root.name == ".artifacts":
        with suppress(FileExistsError), (root / ".gitignore").open("x") as ignore:
            ignore.write("*\n")
    folder = _new_folder(root / kind, re.sub(r"[-:]", "", to_iso(clock.now())).replace(".", "-"))
    link = folder.with_name(f".latest-{folder.name}")
    link.symlink_to(folder.name)
    link.replace(folder.with_name("latest"))
    return folder


def _new_folder(parent: Path, stamp: str) -> Path:
    for number in range(1, 1000):
        folder = parent / (stamp if number == 1 else f"{stamp}-{number}")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise FileExistsError(f"{parent / stamp} and 999 more are taken")
