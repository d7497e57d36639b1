"""The systemd user unit of a guard: written, and never started from here.

A unit may be read by everybody, and so may the arguments of a process: what is secret is in a file beside the unit.
"""

import os
import sys
from pathlib import Path
from urllib.parse import quote

from holdfast.cli.options import Location
from holdfast.core.durable_files import make_folder, write_whole, writing
from holdfast.core.errors import Conflict
from holdfast.core.redact import redact
from holdfast.core.store_file import sqlite_path

NAME = "holdfast-guard.service"
SECRETS = "holdfast-guard.env"
TOKEN, STORE = "HOLDFAST_TOKEN", "HOLDFAST_STORE"
MARK = "# Written by `holdfast guard --install`; it is written again by the next one."
UNIT = """{mark}
[Unit]
Description=Holdfast keeps the sessions of {source}

[Service]
EnvironmentFile=-{secrets}
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
    secrets = _secrets(where)
    if where.url is not None:
        arguments += ["--url", where.url]
    elif where.store is not None and STORE not in secrets:
        file = sqlite_path(where.store)
        arguments += ["--store", where.store if file is None else f"sqlite:///{quote(str(file.absolute()))}"]
    arguments += ["--data", str(where.data.absolute())]
    if where.tenant is not None:
        arguments += ["--tenant", where.tenant]
    make_folder(path.parent)
    beside = path.with_name(SECRETS)
    if not secrets:
        beside.unlink(missing_ok=True)  # those of another guard
    else:
        write_whole(beside, "".join(f"{name}={_setting(value)}\n" for name, value in secrets.items()).encode())
    unit = UNIT.format(mark=MARK, source=source, secrets=_path(beside), command=" ".join(map(quoted, arguments)))
    with writing(path):
        path.write_text(unit)
    start = f"systemctl --user daemon-reload && systemctl --user enable --now {NAME.removesuffix('.service')}"
    return {"unit": str(path), "next": f"written: {path}\nto start it, now and at every login: {start}"}


def _secrets(where: Location) -> dict[str, str]:
    """The settings that nobody else may read: a token, and a store's URL with a password."""
    secrets = {}
    if where.url is None and where.store is not None and redact(where.store) != where.store:
        secrets[STORE] = where.store
    if token := os.environ.get(TOKEN):
        secrets[TOKEN] = token
    return secrets


def quoted(argument: str) -> str:
    """An argument as a unit's command line has it."""
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if not escaped or set(escaped) & set(" \t'\";") or escaped != argument else escaped


def _setting(value: str) -> str:
    """A value as a file of settings has it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _path(path: Path) -> str:
    """A path as a unit's setting has it: never quoted, and only specifiers mean something."""
    return str(path.absolute()).replace("%", "%%")
