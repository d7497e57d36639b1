"""What a program is told: by options, else by the environment, else by default."""

import argparse
import fcntl
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.core import HoldfastError
from holdfast.core.durable_files import make_folder, write_whole
from holdfast.core.ids import TimeOrderedIds, check_session_id
from holdfast.core.loopback import is_loopback


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """Where a program keeps what must survive, where it answers, which session it reports to, and when it ends."""

    name: str
    data: Path
    host: str
    port: int
    session_id: str
    desk_id: str
    """An id of the data folder, for keys that must be the same whatever session is reported to."""
    once: bool
    """Whether it ends when nothing waits any more."""
    token: str | None
    """What whoever posts to it must know; on loopback nobody need know anything."""

    @property
    def takes_posts(self) -> bool:
        """Whether it takes anything over HTTP but a question for its health."""
        return self.token is not None or is_loopback(self.host)


def read(
    name: str,
    about: str,
    port: int,
    points: Sequence[str],
    more: Callable[[argparse.ArgumentParser], None] | None = None,
) -> tuple[ProgramSettings, argparse.Namespace]:
    """The settings, and the options as they were parsed; ends the process for `--help` and `--crash-points`."""
    parser = argparse.ArgumentParser(prog=f"python -m apps.{name}", description=about)
    default = os.environ.get("APP_DATA") or f"holdfast-data/apps/{name}"
    parser.add_argument(
        "--data", type=Path, default=Path(default), metavar="DIR", help="what must survive [%(default)s]"
    )
    parser.add_argument(
        "--host", default=os.environ.get("APP_HOST", "127.0.0.1"), help="address to listen on [%(default)s]"
    )
    parser.add_argument(
        "--port", type=int, default=int(os.environ.get("APP_PORT", port)), help="0 takes a free one [%(default)s]"
    )
    parser.add_argument("--once", action="store_true", help="end when nothing waits any more")
    parser.add_argument("--set-up", action="store_true", help="only make the program's venv, and end")
    parser.add_argument("--crash-points", action="store_true", help="print where APP_CRASH_AT can kill the program")
    if more is not None:
        more(parser)
    given = parser.parse_args()
    if given.crash_points:
        print("\n".join(points))
    if given.crash_points or given.set_up:
        sys.exit(0)
    data = given.data.absolute()
    try:
        make_folder(data)
        _keep_to_one_process(name, data)
        desk_id = _desk_id(name, data)
    except (OSError, HoldfastError) as error:
        sys.exit(f"{name}: cannot keep anything in {data}: {error}; name another folder with --data")
    named = os.environ.get("SESSION_ID")
    settings = ProgramSettings(
        name=name,
        data=data,
        host=given.host,
        port=given.port,
        session_id=check_session_id(named) if named else desk_id,
        desk_id=desk_id,
        once=given.once,
        token=os.environ.get("APP_TOKEN") or None,
    )
    return settings, given


def _desk_id(name: str, data: Path) -> str:
    """The id of a data folder, which is made up once; its session has this name if the environment names none."""
    kept = data / "desk-id"
    if not kept.exists():
        write_whole(kept, f"{name}-{TimeOrderedIds()()}\n".encode())
    return check_session_id(kept.read_text().strip())


def _keep_to_one_process(name: str, data: Path) -> None:
    """Hold the folder for as long as this process lives: two on one inbox would both answer."""
    lock = os.open(data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"{name}: another process works in {data}; give this one a folder of its own with --data")
