"""The real command line of Claude Code uses the sessions over MCP, on stdin and stdout and over HTTP."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.process import running
from tests.support.claude_cli import ClaudeCode, simulator
from tests.support.web import web_client

pytestmark = pytest.mark.e2e

MINE = "mcp__holdfast__"
"""How Claude Code begins the names of a server's tools."""


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    """What a model says that uses a tool."""
    return {"content": "I use a tool.", "toolCalls": [{"name": MINE + name, "arguments": arguments}]}


SCRIPT = (
    calls("create_session", sessionId="from-claude", userId="ada"),
    calls("append_action", sessionId="from-claude", type="note", details={"text": "green apples"}),
    *("Noted.", "Noted.", "Noted.", "Noted."),
)


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_claude_code_writes_to_a_session(tmp_path: Path, transport: str) -> None:
    data = tmp_path / "data"
    with simulator(SCRIPT, tmp_path) as url, running(data) as gateway:
        claude = ClaudeCode(tmp_path, url)
        server: dict[str, Any] = {"type": "http", "url": f"{gateway.url}/mcp"}
        if transport == "stdio":
            server = {"command": sys.executable, "args": ["-m", "holdfast", "mcp", "--data", str(data)]}
        config = json.dumps({"mcpServers": {"holdfast": server}})
        allowed = f"{MINE}create_session,{MINE}append_action"
        claude.turn("Note it.", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", allowed)
        with web_client(base_url=gateway.url) as http:
            actions = http.get("/api/actions/from-claude").json()["actions"]
    assert [action["details"] for action in actions] == [{"text": "green apples"}]
