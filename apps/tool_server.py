"""The tools of an MCP server, with the official client: the bundled server as a child, or the one at a URL."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from apps.venv import ROOT
from holdfast.core import strict_json
from holdfast.core.loopback import is_here

SECONDS = 60.0


class ToolRefused(Exception):
    """The tool ran and says why it did nothing."""


class ToolsAway(Exception):
    """The server cannot be reached, or went away in the middle: whether the tool ran, only the next call will say."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: dict[str, Any]

    def for_model(self, without: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The tool in the form that models know, without the arguments that the program fills in itself."""
        properties = {name: value for name, value in self.schema.get("properties", {}).items() if name not in without}
        required = [name for name in self.schema.get("required", []) if name not in without]
        parameters = {"type": "object", "properties": properties, "required": required}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


class ToolServer:
    """A connection to an MCP server."""

    def __init__(self, client: Client, tools: list[OfferedTool]) -> None:
        self._client = client
        self.tools = {tool.name: tool for tool in tools}

    @property
    def described(self) -> dict[str, Any]:
        """Whom the program is connected to."""
        info = self._client.server_info
        return {
            "server": info.name if info else None,
            "protocol": self._client.protocol_version,
            "tools": sorted(self.tools),
        }

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """What a tool gives; ToolRefused if it says no, ToolsAway if nobody knows."""
        try:
            result = await self._client.call_tool(name, arguments, read_timeout_seconds=SECONDS)
        except Exception as error:
            raise ToolsAway(f"{name}: {type(error).__name__}: {error}") from error
        words = "\n".join(part.text for part in result.content if part.type == "text")
        if result.is_error:
            raise ToolRefused(words)
        given = result.structured_content
        if given is not None:
            return given["result"] if set(given) == {"result"} else given
        try:
            return strict_json.parse(words.encode())
        except ValueError:
            return words


@asynccontextmanager
async def tool_server(url: str | None, token: str | None, module: str, *arguments: str) -> AsyncIterator[ToolServer]:
    """The server at a URL, with a bearer token if it wants one, or the bundled one as a child of this process."""
    async with AsyncExitStack() as stack:
        try:
            connected = await _to_url(stack, url, token) if url else _bundled(module, arguments)
            client = await stack.enter_async_context(Client(connected, read_timeout_seconds=SECONDS))
            listed = await client.list_tools()
        except Exception as error:
            raise ToolsAway(f"{url or module}: {type(error).__name__}: {error}") from error
        offered = [OfferedTool(tool.name, tool.description or "", tool.input_schema) for tool in listed.tools]
        yield ToolServer(client, offered)


async def _to_url(stack: AsyncExitStack, url: str, token: str | None) -> Any:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    # No proxy stands between us and this machine.
    http = httpx2.AsyncClient(headers=headers, timeout=SECONDS, trust_env=not is_here(url))
    return streamable_http_client(url, http_client=await stack.enter_async_context(http))


def _bundled(module: str, arguments: tuple[str, ...]) -> StdioServerParameters:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    own = {name: value for name, value in os.environ.items() if name.startswith("APP_")} | {"PYTHONPATH": path}
    return StdioServerParameters(command=sys.executable, args=["-m", module, *arguments], env=own)
