"""What `pip install` of the wheel brings into a clean venv, and how soon its commands answer there.

The venv is the user's: built from the wheel, not from a checkout, with nothing beside what the wheel asks for.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.line import Effort, Line
from bench.servers import plain_environment

ROOT = Path(__file__).resolve().parents[1]
TIMES = 30
QUICK_TIMES = 5
MEGABYTE = 1e6
AT_MOST_MB = 100.0
AT_MOST_COMMAND_MS = 150.0
AT_MOST_STORE_MS = 100.0
TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""What a new venv has before anything is installed."""


def measure(effort: Effort) -> list[Line]:
    """The size, then each command and import in new processes, taking turns."""
    times = QUICK_TIMES if effort.quick else TIMES
    with tempfile.TemporaryDirectory(dir=effort.folder) as place:
        began = time.perf_counter()
        commands = install(Path(place))
        seconds = time.perf_counter() - began
        python = str(commands / "python")
        sides = {
            "version": [str(commands / "holdfast"), "--version"],
            "help": [str(commands / "holdfast"), "--help"],
            "store": [python, "-c", "import holdfast.store"],
            "client": [python, "-c", "import holdfast.client"],
            "bare": [python, "-c", "pass"],
        }
        rounds = [{name: milliseconds(command) for name, command in sides.items()} for _ in range(times + 1)]
        found = {name: median(each[name] for each in rounds[1:]) for name in sides}  # the first round fills caches
        parts = sizes(Path(place) / "venv")
    total = sum(parts.values())
    largest = sorted(parts.items(), key=lambda part: -part[1])[:5]
    return [
        Line(
            "install-size",
            "what `pip install holdfast` brings, bytecode included",
            "MB",
            total,
            at_most=AT_MOST_MB,
            beside={f"{name} MB": size for name, size in largest} | {"seconds": seconds, "parts": len(parts)},
        ),
        Line(
            "install-command",
            f"`holdfast --help` of that installation, median of {times}",
            "ms",
            found["help"],
            at_most=AT_MOST_COMMAND_MS,
            beside={"--version ms": found["version"], "bare Python ms": found["bare"]},
        ),
        Line(
            "install-import",
            f"a process that imports holdfast.store and ends, median of {times}",
            "ms",
            found["store"],
            at_most=AT_MOST_STORE_MS,
            beside={"holdfast.client ms": found["client"], "bare Python ms": found["bare"]},
        ),
    ]


def install(place: Path) -> Path:
    """The commands of a clean venv with the wheel, at the versions that the tests use."""
    pins = re.findall(r"^[a-z0-9._-]+==\S+", (ROOT / "requirements" / "run.txt").read_text(), re.M)
    constraints = place / "constraints.txt"
    constraints.write_text("\n".join(pins))
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place)])
    (wheel,) = place.glob("holdfast-*.whl")
    run([sys.executable, "-m", "venv", str(place / "venv")])
    commands = place / "venv" / "bin"
    pip = [str(commands / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "--constraint", str(constraints), str(wheel)])
    return commands


def sizes(venv: Path) -> dict[str, float]:
    """The megabytes of each part of what was installed."""
    (packages,) = venv.glob("lib/python3.*/site-packages")
    return {
        part.name: sum(file.stat().st_size for file in [part, *part.rglob("*")] if file.is_file()) / MEGABYTE
        for part in packages.iterdir()
        if not part.name.startswith(TOOLS)
    }


def milliseconds(command: Sequence[str]) -> float:
    """How long a command takes from its start to its end."""
    began = time.perf_counter()
    run(command)
    return (time.perf_counter() - began) * 1_000


def run(command: Sequence[str]) -> None:
    """Run a command to its end; CalledProcessError if it fails."""
    subprocess.run(command, cwd=ROOT, env=plain_environment(), stdout=subprocess.DEVNULL, check=True)
