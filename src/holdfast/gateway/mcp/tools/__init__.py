"""All tools, in the order in which clients see them."""

from holdfast.gateway.mcp.tool import McpTool
from holdfast.gateway.mcp.tools import checkpoints, events, memories, sessions, states

TOOLS: tuple[McpTool, ...] = (
    *sessions.TOOLS,
    *events.TOOLS,
    *states.TOOLS,
    *checkpoints.TOOLS,
    *memories.TOOLS,
)
BY_NAME = {tool.name: tool for tool in TOOLS}
