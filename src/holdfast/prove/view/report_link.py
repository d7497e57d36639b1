"""What `holdfast prove --show` does: make the report of a run again from its folder, say where it is, open it."""

import os
import sys
import webbrowser
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.prove import report


def show_report(artifacts: Path, folder: str) -> None:
    """Print the path of a folder's report, or of the newest run's if none is named; open it where there is a screen."""
    chosen = Path(folder).resolve() if folder else (artifacts / "prove" / "latest").resolve()
    if not chosen.is_dir():
        raise InvalidInput(
            f"there is no evidence in {chosen}", hint="run `holdfast prove` first, or name a folder: --show FOLDER"
        )
    runs = _whole_runs(chosen)
    if runs and not (chosen / "summary.json").exists():
        raise InvalidInput(
            f"not all runs in {chosen} came to their end, so there is no report of the whole",
            hint=f"the last that did: --show {runs[-1]}",
        )
    for run in runs:
        report.write(run)
    page = report.write(chosen)
    sys.stdout.write(f"{page}\n")
    if sys.stdout.isatty() and _has_screen():
        webbrowser.open(page.as_uri())


def _whole_runs(folder: Path) -> list[Path]:
    """The folders of the runs of a --repeat that came to their end, in order; the page of the whole leads to them."""
    found = [path.parent for path in folder.glob("run-*/summary.json") if path.parent.name[4:].isdigit()]
    return sorted(found, key=lambda run: int(run.name[4:]))


def _has_screen() -> bool:
    return sys.platform in {"darwin", "win32"} or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
