"""A backup made by a process of its own: the one that serves goes on at full speed, and can end it at any time.

Its program is `__main__`: it is told the order on one line, and says on lines of JSON how it goes and how it ended.
"""

import asyncio
import contextlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError
from holdfast.core.errors import Closing
from holdfast.core.race import first_of
from holdfast.store.backup.backup import Backup, DamagedSession, remove_unfinished
from holdfast.store.engine import Seen

PROGRAM = "holdfast.store.backup"
LINE = 64 * 1024


class BackupFailed(HoldfastError):
    """No backup was made; `reason` is the code of what went wrong."""

    code = "backup_failed"
    status = 503


@dataclass(frozen=True, slots=True)
class BackupJob:
    """Which store to copy, by its URL with everything that is in it, where to, and what is known of its server: the
    process itself has seen nothing yet, and would believe a former primary. `folder` has files that go with it."""

    url: str
    path: Path
    seen: Seen | None = None
    folder: Path | None = None


async def back_up_apart(order: BackupJob, stopping: asyncio.Event) -> Backup:
    """Copy the store to a new file and check the copy; Closing, and nothing is left, when `stopping` is set."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE,
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        paths = {"path": str(order.path), "folder": None if order.folder is None else str(order.folder)}
        process.stdin.write(json.dumps(asdict(order) | paths).encode() + b"\n")
        said, _ = await first_of(_last_word(process), stopping.wait())
        if said is None:
            raise Closing("the gateway is stopping: there is no backup")
        return _result(said.result())
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.stdin.close()
        await process.communicate()  # to the end of its pipe: the loop may close next
        await asyncio.to_thread(remove_unfinished, order.path)


async def _last_word(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """What the process says when it is done, or that it said nothing."""
    assert process.stdout is not None
    async for line in process.stdout:
        found: dict[str, Any] = json.loads(line)
        if "done" not in found:
            return found
    return {"code": "internal", "message": f"the process that makes the backup ended ({await process.wait()})"}


def _result(said: dict[str, Any]) -> Backup:
    if "code" in said:
        raise BackupFailed(said["message"], hint=said.get("hint"), reason=said["code"])
    damaged = tuple(DamagedSession(**each) for each in said["damaged"])
    return Backup(Path(said["path"]), said["bytes"], said["sessions"], damaged, said["files"])
