"""What is deleted or erased in the store goes from the files as well, also if nobody looks at them any more.

While the gateway runs, the store's feed says so; what happened before is found by a look at every file when it starts,
and what happens during a turn at the turn's end. A file that is gone is begun anew from the log, if there is one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from holdfast.core import HoldfastError, types
from holdfast.core.errors import NotFound, SessionGone
from holdfast.runtime.served.conversation_files import ConversationFiles
from holdfast.store import Store

PAUSE_SECONDS = 1.0
TOLD = (types.SESSION_DELETED, types.EVENTS_ERASED)

log = logging.getLogger("holdfast.runtime")


@asynccontextmanager
async def upkeep(
    store: Store, files: ConversationFiles, *, pause_seconds: float = PAUSE_SECONDS
) -> AsyncIterator[None]:
    """Keep the files of every tenant in step with the store, until the end; after an error they are looked at again."""
    followers: dict[str, asyncio.Task[None]] = {}

    def follow(tenant: str) -> None:
        if tenant not in followers:
            followers[tenant] = asyncio.create_task(_follow(store.for_tenant(tenant), files, pause_seconds))

    for tenant in await files.run(files.tenants):
        follow(tenant)
    files.on_tenant = follow
    try:
        yield
    finally:
        files.on_tenant = None
        for follower in followers.values():
            follower.cancel()
        await asyncio.gather(*followers.values(), return_exceptions=True)


async def remove_if_outdated(store: Store, files: ConversationFiles, session_id: str, seq: int) -> bool:
    """Remove the file of a session that is gone, or of which something was erased after this seq; whether it did."""
    try:
        erased = await store.newest(session_id, types=[types.EVENTS_ERASED], limit=1)
    except (NotFound, SessionGone):
        erased = None
    if erased is not None and not any(event.seq > seq for event in erased):
        return False
    return await files.run(lambda: files.remove(store.tenant, session_id))


async def _follow(store: Store, files: ConversationFiles, pause_seconds: float) -> None:
    """Look at the files of a tenant, and remove what goes from then on."""
    while True:
        try:
            cursor = await store.feed.now()
            for session_id, seq in await files.run(lambda: files.sessions(store.tenant)):
                await remove_if_outdated(store, files, session_id, seq)
            async with aclosing(store.feed.everything(cursor)) as events:
                async for each in events:
                    if each.event.type in TOLD:
                        await remove_if_outdated(store, files, each.session_id, 0)
        except (HoldfastError, OSError) as error:
            log.warning("the conversations of tenant %s are looked at again: %s", store.tenant, error)
        await asyncio.sleep(pause_seconds)
