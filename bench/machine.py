"""Where a run was made: numbers mean nothing without it."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import apsw


def describe(folder: Path) -> dict[str, str]:
    """The machine and the versions that matter."""
    return {
        "cores": str(os.cpu_count()),
        "cpu": _cpu(),
        "system": f"{platform.system()} {platform.release()}",
        "disk": file_system(folder),
        "load at start": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "apsw": apsw.apsw_version(),
        "sqlite": apsw.sqlite_lib_version(),
        **{name: _version(name) for name in ("holdfast", "psycopg", "uvicorn", "uvloop", "starlette", "msgspec")},
    }


def file_system(folder: Path) -> str:
    """The kind of file system that a folder is on."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    place = folder.resolve()
    found = [(mount, kind) for mount, kind in mounts if place.is_relative_to(mount)]
    return max(found, key=lambda entry: len(entry[0]), default=("", "unknown"))[1]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
