"""The protocols of a gateway's connections: uvicorn's own, each with a guard for the limits."""

import asyncio
from functools import partial
from typing import cast

from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.unsent_output import UnsentOutput


def http_protocol(limits: ConnectionLimits, unsent: UnsentOutput) -> type[asyncio.Protocol]:
    """What makes the protocol of a new connection: httptools' parser where it is installed, else h11's."""
    try:
        from holdfast.gateway.connections.with_httptools import WithHttptools as Protocol
    except ImportError:
        from holdfast.gateway.connections.with_h11 import WithH11 as Protocol  # type: ignore[assignment]
    return cast("type[asyncio.Protocol]", partial(Protocol, limits=limits, unsent=unsent))


def live_protocol(limits: ConnectionLimits, unsent: UnsentOutput) -> type[asyncio.Protocol]:
    """What makes the protocol of a connection that becomes a WebSocket."""
    from holdfast.gateway.connections.with_websockets import WithWebsockets

    return cast("type[asyncio.Protocol]", partial(WithWebsockets, limits=limits, unsent=unsent))
