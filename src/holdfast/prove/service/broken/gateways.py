"""Broken gateways: each is a proxy before a real one, and differs from an honest one in one thing.

A browser's live feed does not come through: the page then asks again and again, which is enough to see the sessions.
"""

import json
from urllib.parse import urlsplit

from holdfast.prove.live.broken.proxy import Answered, HonestProxy, answer_of
from holdfast.prove.targets.process import HOST

TOOLS = ("tool_started", "tool_finished")


class SeenByBrowsers(HonestProxy):
    """Passes everything on, a browser's requests too: the gateway behind knows under which address it is seen."""

    def __init__(self, serve: list[str]) -> None:
        super().__init__([*serve, "--allow-origin", f"http://{HOST}:{serve[serve.index('--port') + 1]}"])


class ForgetsASession(SeenByBrowsers):
    """Takes what is told of a session, and leaves the session out of its list."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        found = answered.document
        if (
            method != "GET"
            or urlsplit(path).path != "/api/sessions"
            or "summaries" in path
            or not found.get("sessions")
        ):
            return answered
        return answer_of({**found, "sessions": found["sessions"][1:]})


class KeepsNoState(SeenByBrowsers):
    """Acknowledges a patch of the state, and keeps nothing of it."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        place = urlsplit(path).path
        if method != "PATCH" or not place.startswith("/api/state/") or "/goals/" in place:
            return self.forward(method, path, headers, body)
        kept = json.loads(body)
        members = {name: kept[name] for name in kept if name not in {"phase", "currentStep"}}
        return self.forward(method, path, headers, json.dumps(members).encode())


class DropsActions(SeenByBrowsers):
    """Acknowledges all actions, and keeps those that are about no tool."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        if method != "POST" or not urlsplit(path).path.endswith("/batch"):
            return self.forward(method, path, headers, body)
        lines = [line for line in body.split(b"\n") if line.strip()]
        kept = [line for line in lines if json.loads(line).get("type") not in TOOLS]
        if len(kept) == len(lines):
            return self.forward(method, path, headers, body)
        answered = self.forward(method, path, headers, b"\n".join(kept)) if kept else answer_of({"seqs": []})
        seqs = [*answered.document.get("seqs", [])]
        return answer_of({**answered.document, "seqs": [*seqs, *[1] * (len(lines) - len(seqs))]})


class ShowsNoSessions(SeenByBrowsers):
    """Tells the list that the dashboard asks for without its rows."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        if urlsplit(path).path != "/api/sessions" or "summaries" not in path or answered.status != 200:
            return answered
        return answer_of({**answered.document, "sessions": []})


GATEWAYS: dict[str, type[HonestProxy]] = {
    "forgets-a-session": ForgetsASession,
    "keeps-no-state": KeepsNoState,
    "drops-actions": DropsActions,
    "shows-no-sessions": ShowsNoSessions,
}
