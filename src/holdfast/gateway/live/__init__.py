"""The live feeds, over a WebSocket and as server-sent events."""
