"""The page about MCP says what there is."""

import re
from pathlib import Path

from tests.support.mcp_tools_table import table

from holdfast.gateway.mcp.resources import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"


def test_the_table_of_tools_is_that_of_the_tools() -> None:
    assert table() in PAGE.read_text(), "scripts/mcp-tools writes it"


def test_every_kind_of_resource_is_there() -> None:
    assert re.findall(r"^\| `(holdfast://[^`]+)` \|", PAGE.read_text(), re.M) == [kind.template for kind in KINDS]
