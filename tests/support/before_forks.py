"""What is done once for all processes that are forked: imported last by the one who forks them.

The migrations are taken apart, and the routes of a gateway are looked at, which all gateways of a process share. No
thread is left: a process that has one must not be forked.
"""

import asyncio
import tempfile
import threading

from holdfast.gateway.app import create_app
from holdfast.store import open_store
from holdfast.store.migrations import steps


async def _make_an_app() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with await open_store(f"sqlite:///{folder}/holdfast.db") as store:
            create_app(store)


steps("postgres")
asyncio.run(_make_an_app())
assert threading.active_count() == 1
