"""A backup made by a process of its own: the one that serves goes on at full speed, and can end it at any time.

`python -m holdfast.store.backup.backup_process` reads one line, the order, and says on lines of JSON how far it is and
how it ended. It ends, and leaves nothing, as soon as nobody holds the other end of its input.
"""

import asyncio
import contextlib
import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError
from holdfast.core.errors import Closing, StoreUnavailable
from holdfast.core.racing import first_of
from holdfast.store.backup.backup import BackedUp, DamagedSession, back_up, drop_unfinished, remove_unfinished
from holdfast.store.store import open_store

NICE = 10
SAY_SECONDS = 0.2
LINE = 64 * 1024


class BackupFailed(HoldfastError):
    """No backup was made; `reason` is the code of what went wrong."""

    code = "backup_failed"
    status = 503


@dataclass(frozen=True, slots=True)
class Order:
    """Which store to copy, by its URL with everything that is in it, and where to."""

    url: str
    path: Path


async def back_up_apart(order: Order, stopping: asyncio.Event) -> BackedUp:
    """Copy the store to a new file and check the copy; Closing, and nothing is left, when `stopping` is set."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE,
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps({"url": order.url, "path": str(order.path)}).encode() + b"\n")
        said, _ = await first_of(_last_word(process), stopping.wait())
        if said is None:
            raise Closing("the gateway is stopping: there is no backup")
        return _result(said.result())
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await asyncio.to_thread(remove_unfinished, order.path)


async def _last_word(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """What the process says when it is done, or that it said nothing."""
    assert process.stdout is not None
    async for line in process.stdout:
        found: dict[str, Any] = json.loads(line)
        if "done" not in found:
            return found
    return {"code": "internal", "message": f"the process that makes the backup ended ({await process.wait()})"}


def _result(said: dict[str, Any]) -> BackedUp:
    if "code" in said:
        raise BackupFailed(said["message"], hint=said.get("hint"), reason=said["code"])
    damaged = tuple(DamagedSession(**each) for each in said["damaged"])
    return BackedUp(Path(said["path"]), said["bytes"], said["sessions"], damaged)


def _main() -> None:
    with contextlib.suppress(OSError):
        os.nice(NICE)
    given = json.loads(sys.stdin.readline())
    order = Order(given["url"], Path(given["path"]))
    threading.Thread(target=_until_alone, args=(order,), daemon=True).start()
    _say(asyncio.run(_made(order)))


async def _made(order: Order) -> dict[str, Any]:
    last = 0.0

    def told(what: str, done: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last > SAY_SECONDS:
            last = time.monotonic()
            _say({"doing": what, "done": done, "of": of})

    try:
        async with await open_store(order.url, read_only=True) as store:
            made = await back_up(store, order.path, told=told)
    except HoldfastError as error:
        return {"code": error.code, "message": error.message, "hint": error.hint}
    except OSError as error:
        return {"code": StoreUnavailable.code, "message": f"cannot write to {order.path.parent}: {error}"}
    damaged = [asdict(each) for each in made.damaged]
    return {"path": str(made.path), "bytes": made.size_bytes, "sessions": made.sessions, "damaged": damaged}


def _until_alone(order: Order) -> None:
    """End everything once whoever asked is gone."""
    sys.stdin.read()
    drop_unfinished(order.path)
    os._exit(1)


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
