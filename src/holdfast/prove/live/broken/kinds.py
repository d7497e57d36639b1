"""The kinds: each differs from the honest proxy in one thing.

The name of a class is the name of its kind: `WritesJsonl` is `writes-jsonl`.
"""

import json
import os
from typing import Any
from urllib.parse import unquote, urlsplit

from holdfast.prove.live.broken.proxy import HEALTH, Answered, HonestProxy, answer_of
from holdfast.prove.live.stage import RECOVERY

CHAT = "/api/chat/"
HISTORY = "/history"
LATE = ".hidden"


def is_turn(method: str, path: str) -> bool:
    """Whether a request is an ordinary turn of the agent; the one that is cut on purpose is none."""
    return method == "POST" and path.startswith(CHAT) and not path.endswith(RECOVERY)


class WritesJsonl(HonestProxy):
    """Writes a transcript of its own beside the database."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        if is_turn(method, path):
            folder = self.data / "agents" / "main" / "sessions"
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "transcript.jsonl").open("ab") as file:
                file.write(answered.body.strip() + b"\n")
        return answered


class LogsASchemaError(HonestProxy):
    """Is healthy and logs a schema error: a line in the log, not at the level of an error."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        if is_turn(method, path):
            line = {"level": "warning", "logger": "holdfast.store", "message": "no such column: sessions.mood"}
            with (self.data / "logs" / "gateway.log").open("ab") as file:
                file.write(json.dumps(line).encode() + b"\n")
        return answered


class ForgetsIdentities(HonestProxy):
    """Has the identities of a turn's events in its memory, from which it answers, and no rows of them.

    It writes them down when a session is exported or deleted: the gateway behind it would notice that they are gone.
    """

    OF_A_TURN = (
        "FROM transcript_event_identities WHERE type <> 'message' AND session_no = "
        "(SELECT session_no FROM sessions WHERE session_id = ?)"
    )

    def __init__(self, serve: list[str]) -> None:
        super().__init__(serve)
        self._remembered: list[tuple[Any, ...]] = []
        self._history: dict[str, Answered] = {}

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        if path in self._history:
            return self._history[path]
        if method == "DELETE" or path.startswith("/api/export"):
            self._write_down()
        answered = self.forward(method, path, headers, body)
        if is_turn(method, path):
            session_id = answered.document.get("sessionId")
            self._history[path + HISTORY] = self.forward("GET", path + HISTORY, headers, b"")
            self._remembered += self.run_sql(f"SELECT * {self.OF_A_TURN}", session_id)
            self.run_sql(f"DELETE {self.OF_A_TURN}", session_id)
        return answered

    def _write_down(self) -> None:
        self._history.clear()
        for row in self._remembered:
            self.run_sql(f"INSERT INTO transcript_event_identities VALUES ({', '.join('?' * len(row))})", *row)
        self._remembered.clear()


class ChangesALegacyFile(HonestProxy):
    """Touches sessions.json, or what else lies among the legacy files, on a turn."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        if is_turn(method, path):
            for file in sorted(self.data.glob("agents/*/sessions/*"))[:1]:
                os.utime(file)
        return answered


class LeavesTheSession(HonestProxy):
    """Says that it deleted a session and keeps it."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        if method != "DELETE":
            return self.forward(method, path, headers, body)
        session_id = unquote(urlsplit(path).path.rpartition("/")[2])
        return answer_of(
            {"sessionId": session_id, "events": 1, "headHash": "", "deletedAt": "2026-01-01T00:00:00.000Z"}
        )


class RestoresElsewhere(HonestProxy):
    """Restores a checkpoint onto another key than the session's."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        if not path.endswith("/restore"):
            return self.forward(method, path, headers, body)
        session_id = unquote(path.split("/")[3])
        other = json.dumps({"key": f"{session_id}:elsewhere"}).encode()
        return self.forward(method, path.removesuffix("restore") + "branch", headers, other)


class ImportsAtFirstRead(HonestProxy):
    """Imports legacy sessions when somebody first reads: until then its gateway does not see them."""

    def start(self) -> None:
        folder = self.data / "agents"
        if folder.exists():
            folder.rename(self.data / LATE)
        super().start()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        with self.lock:
            hidden = self.data / LATE
            if path not in HEALTH and hidden.exists():
                self.stop()
                hidden.rename(self.data / "agents")
                super().start()
        return self.forward(method, path, headers, body)


class TidiesUp(HonestProxy):
    """Removes the transcripts that nobody names, when it starts."""

    def start(self) -> None:
        super().start()
        for file in self.data.glob("agents/*/sessions/*unreferenced*"):
            file.unlink()


class AnswersFromACache(HonestProxy):
    """Tells a history that it remembers, after the rows are gone."""

    def __init__(self, serve: list[str]) -> None:
        super().__init__(serve)
        self._known: dict[str, Answered] = {}

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        if method == "GET" and path.endswith(HISTORY):
            if answered.document.get("messages"):
                self._known[path] = answered
            return self._known.get(path, answered)
        return answered


class TellsOldTimes(HonestProxy):
    """Tells of a session that it was last changed when it began."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        metadata = answered.document.get("metadata")
        if method != "GET" or not path.startswith("/api/sessions/") or not isinstance(metadata, dict):
            return answered
        return answer_of({**answered.document, "metadata": {**metadata, "updatedAt": metadata["createdAt"]}})


class ForgetsPatches(HonestProxy):
    """Acknowledges a change of the metadata and makes none."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        if method != "PATCH":
            return self.forward(method, path, headers, body)
        session = self.forward("GET", path.removesuffix("/metadata"), headers, b"").document["metadata"]
        members = {name: value for name, value in json.loads(body).items() if value is not None}
        return answer_of({**session, "metadata": members})


class GivesUpAtTheStart(HonestProxy):
    """Takes every turn that was running for failed when it starts."""

    def start(self) -> None:
        if (self.data / "logs").exists():
            self.run_sql("UPDATE tasks SET state = 'failed' WHERE state IN ('submitted', 'working')")
        super().start()


class ArchivesNothing(HonestProxy):
    """Deletes a session and keeps none of its events."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        answered = self.forward(method, path, headers, body)
        if method == "DELETE":
            self.run_sql("DELETE FROM archived_events")
        return answered


CLASSES: tuple[type[HonestProxy], ...] = (
    HonestProxy,
    WritesJsonl,
    LogsASchemaError,
    ForgetsIdentities,
    ChangesALegacyFile,
    LeavesTheSession,
    RestoresElsewhere,
    ImportsAtFirstRead,
    TidiesUp,
    AnswersFromACache,
    TellsOldTimes,
    ForgetsPatches,
    GivesUpAtTheStart,
    ArchivesNothing,
)


def _name(of: type[HonestProxy]) -> str:
    """`WritesJsonl` as `writes-jsonl`; the honest one is none."""
    if of is HonestProxy:
        return "none"
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in of.__name__).lstrip("-")


PROXIES = {_name(of): of for of in CLASSES}
