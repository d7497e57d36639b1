"""The files of a SQLite store: how long its log is, what room its disk has, and who may open them."""

import asyncio
import os
import shlex
import shutil
import stat
from pathlib import Path

from holdfast.store.health.examination import Examination
from holdfast.store.health.finding import HealthFinding, failed, ok, warning
from holdfast.store.sqlite.disk_reserve import RESERVE_BYTES
from holdfast.store.sqlite.log import PAGE, TRUNCATE_PAGES, WAL_LIMIT_PAGES, readers_of

LONG_LOG = 2 * TRUNCATE_PAGES * PAGE
"""A server empties its log long before."""
FULL_LOG = WAL_LIMIT_PAGES * PAGE
"""Beyond this writes are refused."""
OTHERS = stat.S_IRWXO
ROOM = "sessions rm --older-than 90d --dry-run"
SUFFIXES = ("", "-wal", "-shm", ".reserve")


async def log(found: Examination) -> HealthFinding:
    """Whether the write-ahead log is emptied."""
    real = _real(found)
    size = _size(Path(f"{real}-wal"))
    said = f"the log has {size / 1e6:.1f} MB"
    if size < LONG_LOG:
        return ok("log", said)
    if found.server is None:
        return warning("log", f"{said}, and no server empties it", found.command("doctor --fix"))
    readers = await asyncio.to_thread(readers_of, f"{real}-shm")
    others = {pid: name for pid, name in readers.items() if pid != found.server.pid}
    if others:
        who = ", ".join(f"process {pid} ({name})" for pid, name in others.items())
        said, mend = f"{said}, and {who} keeps it from being emptied", f"kill {next(iter(others))}"
    else:
        mend = f"restart the gateway (pid {found.server.pid})"
    return (failed if size >= FULL_LOG else warning)("log", said, mend)


async def disk(found: Examination) -> HealthFinding:
    """Whether the disk has room for writes, and for a backup."""
    real = _real(found)
    free = shutil.disk_usage(real.parent).free
    size = _size(real) + _size(Path(f"{real}-wal"))
    said = f"{free / 1e6:,.0f} MB are free, the store has {size / 1e6:,.0f} MB"
    if free < 2 * RESERVE_BYTES:
        return failed("disk", f"{said}: new writes are or will soon be refused", found.command(ROOM))
    if free < 2 * size:
        return warning("disk", f"{said}: there is no room for copies of it", f"df -h {shlex.quote(str(real.parent))}")
    return ok("disk", said)


async def permissions(found: Examination) -> HealthFinding:
    """Whether only those who should can open the files, and the owner can write them."""
    real = _real(found)
    open_files = exposed_files(real)
    if open_files:
        named = " ".join(shlex.quote(str(each)) for each in open_files)
        return warning("permissions", f"every user of this machine may open {open_files[0]}", f"chmod o= {named}")
    owners = {os.stat(each).st_uid for each in files_of(real)}  # noqa: PTH116
    if len(owners) > 1:
        return failed(
            "permissions",
            f"the files of the store belong to several users ({', '.join(map(str, sorted(owners)))})",
            f"chown --reference={shlex.quote(str(real))} {shlex.quote(str(real))}*",
        )
    if not real.stat().st_mode & stat.S_IWUSR:
        return failed("permissions", f"{real} may not be written by its owner", f"chmod u+w {shlex.quote(str(real))}")
    return ok("permissions", "only its owner and their group may open the store")


def files_of(real: Path) -> list[Path]:
    """The files of a store: the database, and what is beside it."""
    return [each for each in (Path(f"{real}{suffix}") for suffix in SUFFIXES) if each.exists()]


def exposed_files(real: Path) -> list[Path]:
    """Those that users may open who are neither the owner nor of its group."""
    return [each for each in files_of(real) if each.stat().st_mode & OTHERS]


def close_to_others(path: Path) -> list[Path]:
    """Let nobody but the owner and its group open a store's files; those that were open to others."""
    found = exposed_files(Path(os.path.realpath(path)))
    for each in found:
        each.chmod(stat.S_IMODE(each.stat().st_mode) & ~OTHERS)
    return found


def _real(found: Examination) -> Path:
    assert found.path is not None
    return Path(os.path.realpath(found.path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
