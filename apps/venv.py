"""A program's own venv, made on first use. How one is made is in `holdfast.venvs`; here is where, and from what."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

APPS = Path(__file__).resolve().parent
ROOT = APPS.parent
FOLDER = "APP_VENVS"

sys.path.insert(0, str(ROOT / "src"))  # nothing is installed yet
from holdfast.venvs import STAMP, Venv, VenvFailed  # noqa: E402

__all__ = ["APPS", "ROOT", "STAMP", "VenvFailed", "enter", "folder_of", "is_ready", "prepare", "python_of"]


def folder_of(name: str) -> Path:
    """Where a program's venv is: below `APP_VENVS`, which is `.venv-apps` in the checkout."""
    return Path(os.environ.get(FOLDER) or ROOT / ".venv-apps").absolute() / name


def requirements_of(name: str) -> Path:
    """What is installed there."""
    return APPS / name / "requirements.txt"


def python_of(name: str) -> Path:
    """The interpreter of a program's venv."""
    return _venv(name).python


def is_ready(name: str) -> bool:
    """Whether the venv is there and has what the requirements of today ask for."""
    return _venv(name).is_ready()


def stamp_of(name: str) -> str:
    """What the stamp of a whole venv says."""
    return _venv(name).stamp


def prepare(name: str, tell: Callable[[str], None] | None = None) -> Path:
    """The interpreter of a program's venv, which is made if it is not there; `tell` hears how far that is."""
    _venv(name).prepare(tell or _tell)
    return python_of(name)


def enter(name: str) -> None:
    """Go on in the program's venv: the same process, another interpreter. Nothing happens if it is there already."""
    if Path(sys.prefix).resolve() == folder_of(name).resolve():
        return
    try:
        python = prepare(name)
    except VenvFailed as error:
        raise SystemExit(f"{name}: {error}") from None
    if sys.argv[1:] == ["--set-up"]:
        raise SystemExit(0)
    known = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), *([known] if known else [])])
    os.execve(python, [str(python), "-m", f"apps.{name}", *sys.argv[1:]], os.environ | {"PYTHONPATH": path})


def _venv(name: str) -> Venv:
    return Venv(name, folder_of(name), requirements_of(name))


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
