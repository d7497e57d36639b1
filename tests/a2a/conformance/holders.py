"""Who asks a gateway that asks for tokens, in either version."""

import json
from typing import Any

import httpx2
from tests.a2a.conformance.speaker import Json, request
from tests.a2a.harness import events_in
from tests.support.web import LOCAL


def ask(url: str, token: str | None, method: str, params: Any = None, **headers: str) -> httpx2.Response:
    """The HTTP answer to one request; a method of 1.0 says so."""
    sent = {} if "/" in method else {"A2A-Version": "1.0"}
    sent |= {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.post(url + "/a2a", json=request(method, params), headers=sent | headers, **LOCAL)


def answer_in(response: httpx2.Response) -> Json:
    """The JSON-RPC answer, be it the only event of a stream."""
    is_stream = response.headers["content-type"].startswith("text/event-stream")
    [text] = events_in(response.text) if is_stream else [response.text]
    answer: Json = json.loads(text)
    return answer


def saying(text: str, version: str, message_id: str = "m") -> Json:
    """The params of a text message."""
    if version == "1.0":
        return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}}
    part = {"kind": "text", "text": text}
    message = {"kind": "message", "messageId": message_id, "role": "user", "parts": [part]}
    return {"message": message, "configuration": {"blocking": True}}
