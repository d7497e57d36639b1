"""`holdfast mcp`: the sessions for MCP clients, on stdin and stdout."""

from typing import Any

import click

from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location, store_options
from holdfast.cli.service import run


@click.command()
@store_options
@says_errors
def mcp(where: Location) -> None:
    """Serve sessions to an MCP client on stdin and stdout, until stdin ends.

    Clients start it themselves, for example: claude mcp add holdfast -- holdfast mcp. Its tools ask a running gateway,
    the one that --url names or that holds the data folder. Where none does, each burst of calls opens the store and
    lets it go again, so that others can have it in between. A gateway serves the same over HTTP, at /mcp.
    """
    from holdfast.gateway.mcp import with_sdk

    sdk, stdio = with_sdk("server"), with_sdk("stdio")
    try:
        run(_serve(where, sdk, stdio))
    except SystemExit:
        return  # a signal ends it as the end of stdin does


async def _serve(where: Location, sdk: Any, stdio: Any) -> None:
    from holdfast.cli.mcp.held_gateway import HeldGateway

    gateway = HeldGateway(where)
    try:
        await stdio.serve(sdk.mcp_server(lambda _context: gateway))
    finally:
        await gateway.let_go()
