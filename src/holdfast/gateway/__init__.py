"""The gateway: one service through which agents write and read sessions, over REST, WebSocket and A2A."""
