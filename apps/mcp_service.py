"""Runs a bundled MCP server: over stdin and stdout as a child of its program, or over HTTP for several."""

import asyncio
import json
import signal
from typing import Any

from mcp.server.mcpserver import MCPServer

from apps.health import quiet, served

HOST = "127.0.0.1"


def run(server: MCPServer[Any], port: int | None) -> None:
    """Serve until the other side leaves or a signal comes; over HTTP the first line of stdout has the address."""
    quiet()
    if port is None:
        server.run()
    else:
        asyncio.run(_over_http(server, port))


async def _over_http(server: MCPServer[Any], port: int) -> None:
    asked, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    async with served(server.streamable_http_app(stateless_http=True, host=HOST), HOST, port, lifespan="on") as url:
        print(json.dumps({"url": f"{url}/mcp"}), flush=True)
        await asked.wait()
