"""A program's own venv, made on first use from its pinned requirements.

It is whole or not there: a stamp with the hash of the requirements is written last, and of two that come at once one
makes it while the other waits. The standard library does, because this runs before anything is installed.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

APPS = Path(__file__).resolve().parent
ROOT = APPS.parent
FOLDER = "APP_VENVS"
STAMP = "holdfast-stamp"


class VenvFailed(Exception):
    """The requirements could not be installed; the message says what pip said."""


def folder_of(name: str) -> Path:
    """Where a program's venv is: below `APP_VENVS`, which is `.venv-apps` in the checkout."""
    return Path(os.environ.get(FOLDER) or ROOT / ".venv-apps").absolute() / name


def requirements_of(name: str) -> Path:
    """What is installed there."""
    return APPS / name / "requirements.txt"


def python_of(name: str) -> Path:
    """The interpreter of a program's venv."""
    return folder_of(name) / "bin" / "python"


def is_ready(name: str) -> bool:
    """Whether the venv is there and has what the requirements of today ask for."""
    with contextlib.suppress(OSError):
        return (folder_of(name) / STAMP).read_text() == stamp_of(name) and python_of(name).exists()
    return False


def prepare(name: str, tell: Callable[[str], None] | None = None) -> Path:
    """The interpreter of a program's venv, which is made if it is not there; `tell` hears how far that is."""
    say = tell or _tell
    if is_ready(name):
        return python_of(name)
    with _alone(name, say):
        if not is_ready(name):
            _make(name, say)
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


def _make(name: str, say: Callable[[str], None]) -> None:
    place, began = folder_of(name), time.monotonic()
    say(f"{name}: making its venv, once, in {place}")
    shutil.rmtree(place, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(place)])
    pip = [str(python_of(name)), "-m", "pip", "--disable-pip-version-check", "install", "--no-input"]
    say(f"{name}: installing {_packages(name)} packages")
    _run([*pip, "--quiet", "--require-hashes", "-r", str(requirements_of(name))])
    stamp = place / STAMP
    stamp.with_suffix(".tmp").write_text(stamp_of(name))
    stamp.with_suffix(".tmp").replace(stamp)
    say(f"{name}: its venv is ready after {time.monotonic() - began:.0f} s")


def _packages(name: str) -> int:
    return sum("==" in line for line in requirements_of(name).read_text().splitlines())


def _run(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        last = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise VenvFailed(f"{' '.join(command[:4])} … ended with {done.returncode}:\n{last}")


@contextlib.contextmanager
def _alone(name: str, say: Callable[[str], None]) -> Iterator[None]:
    """Keep out whoever else would make this venv; its lock goes with the process that holds it."""
    place = folder_of(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    with (place.parent / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{name}: another process is making its venv; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def stamp_of(name: str) -> str:
    """What the stamp of a whole venv says."""
    pinned = hashlib.sha256(requirements_of(name).read_bytes()).hexdigest()
    return f"{pinned} python {sys.version_info.major}.{sys.version_info.minor}\n"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
