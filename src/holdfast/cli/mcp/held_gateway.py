"""A gateway that is held while it is asked, and let go in every pause: for a command that runs for days.

Whoever holds the store keeps all others from it, so nobody may for as long as an MCP client is open. After a pause the
gateway is looked for anew: one that was started meanwhile is asked from then on.
"""

import asyncio

from holdfast.cli.options import Location
from holdfast.cli.service import GatewayClient, serving
from holdfast.core.errors import NotFound, StoreInUse, StoreUnavailable
from holdfast.gateway.mcp.service import RouteRequest

PAUSE_SECONDS = 1.0
"""For how long nothing is asked before it is let go."""
PATIENCE_SECONDS = 15.0
"""How long to wait for a command that has the store."""
LOOK_SECONDS = 0.05


class HeldGateway:
    """The service behind a command, opened when it is needed."""

    def __init__(
        self, where: Location, *, pause_seconds: float = PAUSE_SECONDS, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._where = where
        self._pause_seconds = pause_seconds
        self._patience_seconds = patience_seconds
        self._hold: _Hold | None = None

    async def ask(self, request: RouteRequest) -> bytes:
        """The answer's JSON; a gateway that does not answer is looked for anew by the next who asks."""
        while True:
            hold = await self._current(request)
            with hold:
                try:
                    client = await asyncio.shield(hold.client)
                except NotFound:
                    if hold.creates or not request.changes:
                        raise
                    continue  # whoever began to open it would not have made a store
                try:
                    return await client.bounded(request)
                except StoreUnavailable:
                    hold.is_over = True
                    raise

    async def let_go(self) -> None:
        """Close what is open."""
        hold = self._hold
        if hold is not None:
            hold.is_over = True
            hold.changed.set()
            await asyncio.wait({hold.task})

    async def _current(self, request: RouteRequest) -> "_Hold":
        while self._hold is not None:
            if not self._hold.is_over:
                return self._hold
            await asyncio.wait({self._hold.task})
        hold = self._hold = _Hold(request.changes)
        hold.task = asyncio.create_task(self._keep(hold))
        return hold

    async def _keep(self, hold: "_Hold") -> None:
        """Have the gateway open until it has been quiet for long enough."""
        try:
            await self._opened(hold)
        except Exception as error:
            if not hold.client.done():
                hold.client.set_exception(error)
        finally:
            hold.is_over = True
            hold.client.cancel()
            self._hold = None

    async def _opened(self, hold: "_Hold") -> None:
        last = asyncio.get_running_loop().time() + self._patience_seconds
        while True:
            try:
                async with serving(self._where, writes=True, creates=hold.creates) as client:
                    hold.client.set_result(client)
                    await hold.quiet(self._pause_seconds)
                return
            except StoreInUse:
                if hold.client.done() or asyncio.get_running_loop().time() > last:
                    raise
            await asyncio.sleep(LOOK_SECONDS)


class _Hold:
    """One time that the gateway is open, and who is asking it; inside of it, somebody is."""

    task: asyncio.Task[None]

    def __init__(self, creates: bool) -> None:
        self.creates = creates
        """Whether a store is made if there is none."""
        self.client: asyncio.Future[GatewayClient] = asyncio.get_running_loop().create_future()
        self.changed = asyncio.Event()
        self.is_over = False
        """Whether nobody may begin to ask any more."""
        self._asking = 0

    def __enter__(self) -> None:
        self._asking += 1
        self.changed.set()

    def __exit__(self, *_: object) -> None:
        self._asking -= 1
        self.changed.set()

    async def quiet(self, seconds: float) -> None:
        """Return when nobody has asked for so long, or nobody does and it is over."""
        while self._asking or not self.is_over:
            self.changed.clear()
            try:
                async with asyncio.timeout(None if self._asking else seconds):
                    await self.changed.wait()
            except TimeoutError:
                self.is_over = True
