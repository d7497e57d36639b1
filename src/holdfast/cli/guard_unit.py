"""The systemd user unit of a guard: written, and never started from here."""

import os
import sys
from pathlib import Path

from holdfast.cli.options import Location
from holdfast.core.durable_files import make_folder, writing
from holdfast.core.errors import Conflict

NAME = "holdfast-guard.service"
MARK = "# Written by `holdfast guard --install`; it is written again by the next one."
UNIT = """{mark}
[Unit]
Description=Holdfast keeps the sessions of {source}

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=5
Nice=10

[Install]
WantedBy=default.target
"""


def install_unit(where: Location, folders: tuple[Path, ...], source: str, *, masks: bool) -> dict[str, str]:
    """Write the unit; where it is, and what starts it. Conflict if there is one that is not ours."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path = home / "systemd" / "user" / NAME
    if path.exists() and not path.read_text(errors="replace").startswith(MARK):
        raise Conflict(f"{path} is there, and not written by this command", hint="move it away first")
    arguments = [sys.executable, "-m", "holdfast", "guard", "--source", source]
    for folder in folders:
        arguments += ["--folder", str(folder.absolute())]
    arguments.append("--mask" if masks else "--verbatim")
    if where.url is not None:
        arguments += ["--url", where.url]
    elif where.store is not None:
        arguments += ["--store", where.store]
    arguments += ["--data", str(where.data.absolute())]
    if where.tenant is not None:
        arguments += ["--tenant", where.tenant]
    make_folder(path.parent)
    with writing(path):
        path.write_text(UNIT.format(mark=MARK, source=source, command=" ".join(map(quoted, arguments))))
    start = f"systemctl --user daemon-reload && systemctl --user enable --now {NAME.removesuffix('.service')}"
    return {"unit": str(path), "next": f"written: {path}\nto start it, now and at every login: {start}"}


def quoted(argument: str) -> str:
    """An argument as a unit's command line has it."""
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if not escaped or set(escaped) & set(" \t'\";") or escaped != argument else escaped
