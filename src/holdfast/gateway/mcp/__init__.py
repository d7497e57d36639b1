"""Sessions over MCP: tools, resources and a prompt, each a few requests to the gateway's own routes.

One description serves two ways in: mounted in the gateway at `/mcp`, where a tool's request goes through the gateway's
layers in this process with the caller's own token, and on stdio, where it goes to a gateway over HTTP. What a tool may
do, and what a refusal says, is therefore decided in one place, by the routes. The SDK takes a second to import, so
nothing here imports it but the modules that speak the protocol: `server`, `results` and `stdio`.
"""

from importlib import import_module
from typing import Any

from holdfast.core.errors import MissingExtra

PATH = "/mcp"


def with_sdk(name: str) -> Any:
    """A module of ours that needs the SDK; MissingExtra where that is not installed."""
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise MissingExtra("MCP needs the package mcp", hint="pip install 'holdfast[mcp]'") from None
