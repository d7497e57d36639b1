"""Event types that Holdfast itself writes. They share one prefix, which callers may not use for their own."""

PREFIX = "holdfast."

SESSION_CREATED = "holdfast.session_created"
STATE_UPDATED = "holdfast.state_updated"
TASK_UPDATED = "holdfast.task_updated"
RESPONSE = "holdfast.response"

MESSAGE = "message"
"""A user's or agent's message: `{"role", "messageId", "taskId", "parts"}`."""
