"""A process that is stopped in the middle of a group of writes, and says what became of them when it goes on."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.support.material import numbered

from holdfast.core import HoldfastError
from holdfast.store import NewEvent, Store, StoreTuning, open_store
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.prepare import prepare_all
from holdfast.store.part import session_lock

KEYED = "kept"


def stop_in_a_group(url: str, session_id: str, answers: str, patience: float) -> None:
    """Append twice in one group and stop between the two; then write down what the callers were told, and what a
    retry of the second, under its key, was told."""

    async def run() -> None:
        async with await open_store(url, tuning=StoreTuning(frozen_seconds=patience)) as store:
            first = asyncio.ensure_future(_append_and_stop(store, session_id))
            await asyncio.sleep(0)
            second = asyncio.ensure_future(_keyed(store, session_id))
            told = await asyncio.gather(first, second, return_exceptions=True)
            again = await _keyed(store, session_id)
            Path(answers).write_text(json.dumps([*map(_name, told), again]))

    asyncio.run(run())


async def _append_and_stop(store: Store, session_id: str) -> None:
    events = prepare_all(numbered(1), store.clock, store._ids)
    stopped: list[int] = []

    def write(tx: Tx) -> None:
        append(tx, store.tenant, session_id, events)
        tx.one("SELECT 1")  # its answer comes when the server has done all that was sent before it
        if not stopped:
            stopped.append(1)
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(0.2)  # another thread may take the signal: this one goes on for a moment

    await store.sessions.workers.write(write, (session_lock(store.tenant, session_id),))


async def _keyed(store: Store, session_id: str) -> int:
    event = NewEvent("number", {"n": 2}, idempotency_key=KEYED)
    return (await store.append(session_id, [event])).first_seq


def _name(answer: Any) -> str:
    return type(answer).__name__ if isinstance(answer, HoldfastError) else "acknowledged"


def is_stopped(pid: int) -> bool:
    """Whether a process stands still."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
