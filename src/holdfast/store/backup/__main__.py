"""The program that makes one backup: `python -m holdfast.store.backup` reads the order, one line of JSON, and tells.

It ends, and leaves nothing, as soon as nobody holds the other end of its input.
"""

import asyncio
import contextlib
import json
import os
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError
from holdfast.core.errors import StoreUnavailable
from holdfast.store.backup.backup import back_up, drop_unfinished
from holdfast.store.backup.backup_process import BackupJob
from holdfast.store.store import open_store

NICE = 10
SAY_SECONDS = 0.2


def _main() -> None:
    with contextlib.suppress(OSError):
        os.nice(NICE)
    given = json.loads(sys.stdin.readline())
    folder = None if given["folder"] is None else Path(given["folder"])
    order = BackupJob(given["url"], Path(given["path"]), given["seen"], folder)
    threading.Thread(target=_until_alone, args=(order,), daemon=True).start()
    _say(asyncio.run(_made(order)))


async def _made(order: BackupJob) -> dict[str, Any]:
    last = 0.0

    def told(what: str, done: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last > SAY_SECONDS:
            last = time.monotonic()
            _say({"doing": what, "done": done, "of": of})

    try:
        async with await open_store(order.url, read_only=True, seen=order.seen) as store:
            made = await back_up(store, order.path, folder=order.folder, told=told)
    except HoldfastError as error:
        return {"code": error.code, "message": error.message, "hint": error.hint}
    except OSError as error:
        return {"code": StoreUnavailable.code, "message": f"cannot write to {order.path.parent}: {error}"}
    damaged = [asdict(each) for each in made.damaged]
    about = {"path": str(made.path), "bytes": made.size_bytes, "sessions": made.sessions, "files": made.files}
    return {**about, "damaged": damaged}


def _until_alone(order: BackupJob) -> None:
    """End everything once whoever asked is gone."""
    sys.stdin.read()
    drop_unfinished(order.path)
    os._exit(1)


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
