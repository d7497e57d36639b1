"""A watch over the callers of long connections: a token that is revoked or expires ends what it opened.

One look a second for each token that has something open, however many connections that is.
"""

import asyncio

from holdfast.core import HoldfastError
from holdfast.gateway.access.authority import Authority
from holdfast.gateway.access.scopes import Caller

LOOK_SECONDS = 1.0


class TokenWatch:
    """Tells when callers may no longer go on."""

    def __init__(self, authority: Authority, look_seconds: float = LOOK_SECONDS) -> None:
        self._authority = authority
        self._look_seconds = look_seconds
        self._looking: dict[str, tuple[asyncio.Task[None], int]] = {}

    async def until_refused(self, caller: Caller) -> None:
        """Return when the caller's token is good no more; never, if it needs none."""
        token_id = caller.token_id
        if token_id is None:
            await asyncio.Event().wait()
            return
        looking, others = self._looking.get(token_id) or (asyncio.create_task(self._look(caller)), 0)
        self._looking[token_id] = (looking, others + 1)
        try:
            await asyncio.shield(looking)
        finally:
            looking, watchers = self._looking[token_id]
            if watchers > 1:
                self._looking[token_id] = (looking, watchers - 1)
            else:
                del self._looking[token_id]
                looking.cancel()

    async def _look(self, caller: Caller) -> None:
        good = True
        while good:
            await asyncio.sleep(self._look_seconds)
            good = await self._good(caller)

    async def _good(self, caller: Caller) -> bool:
        """Whether the token is good; a store that cannot tell just now refuses nobody."""
        try:
            return await self._authority.still(caller)
        except HoldfastError:
            return True
