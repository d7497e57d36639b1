"""What programs and agents write, over the API."""

from typing import Any

import httpx2


def ok(answer: httpx2.Response) -> Any:
    """What it says, if it was taken."""
    assert answer.is_success, answer.text
    return answer.json()


def message(role: str, text: str) -> dict[str, Any]:
    """An action that is a message."""
    return {"type": "message", "details": {"role": role, "parts": [{"text": text}]}}


def describe(client: httpx2.Client, session: str, **members: Any) -> None:
    ok(client.post("/api/sessions", json={"sessionId": session, **members}))


def append(client: httpx2.Client, session: str, *actions: dict[str, Any]) -> int:
    """Append, and say the last seq."""
    return int(ok(client.post(f"/api/actions/{session}/batch", json=list(actions)))["lastSeq"])
