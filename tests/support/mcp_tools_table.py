"""The table of tools on the page about MCP, made of the tools: `scripts/mcp-tools` writes it, a test compares it."""

import re
import sys
from pathlib import Path

from holdfast.gateway.mcp.tool import McpTool
from holdfast.gateway.mcp.tools import TOOLS

HEAD = "| tool | what it does | arguments | changes |\n|---|---|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\|\n)+")


def table() -> str:
    """A row for each tool; arguments that it needs are set in bold."""
    return HEAD + "".join(_row(tool) for tool in TOOLS)


def _row(tool: McpTool) -> str:
    schema = tool.input_schema()
    needed = set(schema["required"])
    arguments = " ".join(f"**`{name}`**" if name in needed else f"`{name}`" for name in schema["properties"])
    first = re.split(r"(?<=\.)\s", tool.description)[0].removesuffix(".")
    return f"| `{tool.name}` | {first} | {arguments} | {_changes(tool)} |\n"


def _changes(tool: McpTool) -> str:
    effects = tool.effects
    if effects.reads:
        return "nothing"
    what = "replaces or takes away" if effects.replaces else "adds"
    return f"{what}; again, nothing more" if effects.repeatable else what


if __name__ == "__main__":
    page = Path(sys.argv[1])
    written, count = TABLE.subn(lambda _: table(), page.read_text())
    assert count == 1, f"{page} has {count} tables of tools"
    page.write_text(written)
