"""The agent card: what a client may expect of this server, in the strict form of version 1.0."""

from typing import Any

TEXT = "text/plain"


def agent_card(name: str, version: str, url: str) -> dict[str, Any]:
    """The card of an agent whose JSON-RPC endpoint is at `url`."""
    return {
        "name": name,
        "description": "An agent whose conversations survive: sessions are durable, turns run once and in order.",
        "version": version,
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": False, "pushNotifications": False, "extendedAgentCard": False},
        "defaultInputModes": [TEXT],
        "defaultOutputModes": [TEXT],
        "skills": [
            {
                "id": "conversation",
                "name": "Conversation",
                "description": "Answers in a conversation and remembers what was said in it.",
                "tags": ["conversation"],
            }
        ],
    }
