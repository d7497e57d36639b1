"""A conversation on a session key of a gateway, whose turns run there.

A message is sent under a key of its own. If the connection breaks, it is sent again under the same one: the gateway
then tells of the turn that it has begun, and never begins a second.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any, Protocol
from urllib.parse import quote

from holdfast.chat.conversation import (
    COMPLETED,
    ChatStatus,
    ConversationEntry,
    Hear,
    OnlyInProject,
    ToolEntry,
    TranscriptEntry,
    TurnAnswer,
    Words,
)
from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, StoreUnavailable

KEYS = "agent:main:"
"""How the keys of a gateway's own agent begin."""
LAST = "last"
MOST_LISTED = 20
PAGE = 200
SUMMED_UP = 100
MOST_PAGES = 10
"""Pages of sessions in which conversations are looked for: others may have written the newest thousand."""
DATA = b"data: "
COUNTED = {
    "inputTokens": "input tokens",
    "outputTokens": "output tokens",
    "cachedTokens": "cached tokens",
    "calls": "calls of the model",
}
"""What is shown of a conversation's usage, by its name at the gateway."""
TRIES = 20
PAUSE_SECONDS = 0.5


class GatewayCalls(Protocol):
    """What is needed of a client of the gateway's API; every error is a HoldfastError."""

    @property
    def name(self) -> str: ...

    async def call(self, method: str, path: str, *, body: Any = None, slow: bool = False, **query: Any) -> Any:
        """The answer's JSON value."""
        ...

    def lines(self, method: str, path: str, *, body: Any = None, **query: Any) -> AsyncIterator[bytes]:
        """The lines of an answer, as they come."""
        ...


class GatewayConversation:
    """The conversation that a key routes to."""

    def __init__(self, calls: GatewayCalls, key: str) -> None:
        self._calls = calls
        self._key = checked_key(key)

    @property
    def name(self) -> str:
        """The session key."""
        return self._key

    @property
    def kept_when_stopped(self) -> str:
        """What the gateway has said by then."""
        return "what the gateway has said so far is kept, and the agent knows that it was interrupted"

    async def about(self) -> list[tuple[str, str]]:
        """Which gateway and which conversation it is."""
        said = f"{len(await self.sayings())} messages so far"
        return [
            ("conversation", f"{self._key} at {self._calls.name}, {said}"),
            ("turns", "the gateway runs them, with its own model, tools and permissions"),
        ]

    async def say(self, text: str, hear: Hear) -> TurnAnswer:
        """Have the gateway take a turn; a cancelled one is cancelled there as well."""
        turn = _GatewayTurn(hear)
        body = {"text": text, "stream": True, "idempotencyKey": uuid.uuid4().hex}
        try:
            for left in reversed(range(TRIES)):
                try:
                    async for line in self._calls.lines("POST", self._path(), body=body):
                        if line.startswith(DATA) and (answer := turn.take(json.loads(line[len(DATA) :]))):
                            return answer
                    turn.interrupted("the answer ended too early")
                except StoreUnavailable as away:
                    if not left or turn.task_id is None:
                        raise
                    turn.interrupted(away.message)
                await asyncio.sleep(PAUSE_SECONDS)
        except asyncio.CancelledError:
            if turn.task_id is not None:
                await self._stop(turn.task_id)
            raise
        raise StoreUnavailable("the gateway gave no answer", hint="ask again: what was said is kept")

    async def entries(self) -> list[ConversationEntry]:
        """The keys of the gateway's agent whose sessions have the latest changes; each leads to one session at a
        time."""
        found: list[ConversationEntry] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._calls.call("GET", "/api/sessions", summaries="true", limit=SUMMED_UP, cursor=cursor)
            found += [entry for session in page["sessions"] for entry in _entries_of(session)]
            cursor = page["cursor"]
            if cursor is None or len(found) >= MOST_LISTED:
                break
        return found[:MOST_LISTED]

    async def resume(self, name: str) -> str | None:
        """Go on with the conversation of another key."""
        if name == LAST:
            entries = await self.entries()
            if not entries:
                raise NotFound("the gateway has no conversation yet")
            name = entries[0].name
        await self._calls.call("GET", f"/api/keys/{quote(checked_key(name), safe=':/')}")
        self._key = name
        return None

    async def renew(self) -> None:
        """Let a new session take the place of this one on the key."""
        await self._calls.call("POST", f"/api/keys/{quote(self._key, safe=':/')}/reset")

    async def fork(self, name: str | None) -> str | None:
        """Go on with a copy under a new key."""
        if name is not None:
            await self.resume(name)
        key = f"{KEYS}chat:{uuid.uuid4()}"
        path = f"/api/sessions/{quote(await self._session_id(), safe=':')}/fork"
        await self._calls.call("POST", path, body={"key": key}, slow=True)
        self._key = key
        return None

    async def compact(self) -> str | None:
        """Have the gateway sum up the session."""
        path = f"/api/sessions/{quote(await self._session_id(), safe=':')}/compact"
        done = await self._calls.call("POST", path, body={}, slow=True)
        return f"the events {done['firstSeq']} to {done['lastSeq']} are summed up. The originals stay in the log."

    async def undo(self) -> str | None:
        """Put a copy of the session without its last turn in its place; the old one stays."""
        messages = (await self._calls.call("GET", f"{self._path()}/history", limit=PAGE))["messages"]
        asked = [each for each in messages if each["role"] == "user"]
        if not asked:
            return None
        seq, text = asked[-1]["seq"], str(asked[-1]["text"])
        if seq == 1:
            await self.renew()
            return text
        path = f"/api/sessions/{quote(await self._session_id(), safe=':')}/checkpoints"
        made = await self._calls.call("POST", path, body={"name": "before /undo", "seq": seq - 1})
        await self._calls.call("POST", f"{path}/{made['checkpointId']}/restore", body={}, slow=True)
        return text

    async def usage(self) -> list[tuple[str, str]]:
        """What the gateway has counted for this conversation."""
        counted = await self._calls.call("GET", "/api/query/usage", session=await self._session_id())
        return [(words, f"{counted[name]:,}") for name, words in COUNTED.items()]

    async def sayings(self) -> list[TranscriptEntry]:
        """What was said on the key, in its current session."""
        found: list[TranscriptEntry] = []
        before: int | None = None
        while True:
            try:
                page = await self._calls.call("GET", f"{self._path()}/history", limit=PAGE, before=before)
            except HoldfastError as error:
                if (error.problem or {}).get("status") == NotFound.status:
                    return found
                raise
            found = [*(TranscriptEntry(each["role"], each["text"]) for each in page["messages"]), *found]
            before = page["cursor"]
            if before is None:
                return found

    async def unresolved(self) -> list[str]:
        """The gateway has them."""
        raise OnlyInProject("the tools are the gateway's: `holdfast sessions show` lists what they left unresolved")

    async def settle(self, number: int, *, ran: bool) -> str:
        """The gateway has them."""
        raise OnlyInProject("the tools are the gateway's, and so is what became of them")

    def tools(self) -> list[ToolEntry]:
        """The gateway has them."""
        raise OnlyInProject("the tools are the gateway's: it offers and runs them itself")

    def modes(self) -> list[tuple[str, str]]:
        """The gateway has them."""
        raise OnlyInProject("the permissions are the gateway's")

    def set_mode(self, mode: str) -> None:
        """The gateway has them."""
        raise OnlyInProject("the permissions are the gateway's")

    def _path(self) -> str:
        return f"/api/chat/{quote(self._key, safe=':/')}"

    async def _session_id(self) -> str:
        found = await self._calls.call("GET", f"/api/keys/{quote(self._key, safe=':/')}")
        if found["sessionId"] is None:
            raise NotFound("nothing has been said here yet")
        return str(found["sessionId"])

    async def _stop(self, task_id: str) -> None:
        """Cancel a turn at the gateway; one that is over by now is as good."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": task_id}}
        await self._calls.call("POST", "/a2a", body=call)


class _GatewayTurn:
    """What the gateway has told of a turn, also over several connections. What is told again and again is passed on
    once."""

    def __init__(self, hear: Hear) -> None:
        self.task_id: str | None = None
        self._hear = hear
        self._heard = ""
        self._again = False
        self._status = ""

    def take(self, event: dict[str, Any]) -> TurnAnswer | None:
        """Pass an event on; the answer, if it is the last."""
        kind = event["type"]
        if kind == "task":
            self.task_id = event["taskId"]
        elif kind == "text" and not self._again:
            self._heard += event["text"]
            self._hear(Words(event["text"]))
        elif kind == "status":
            self._say(event["text"])
        elif kind == "error":
            problem = event["problem"]
            raise StoreUnavailable(str(problem.get("detail", "the gateway gave up")), hint=problem.get("hint"))
        elif kind == "answer":
            return self._answered(event)
        return None

    def interrupted(self, why: str) -> None:
        """The connection broke: from here on only the whole answer counts."""
        self._again = True
        self._say(f"{why}; asking again for the same turn")

    def _say(self, status: str) -> None:
        if status != self._status:
            self._hear(ChatStatus(status))
        self._status = status

    def _answered(self, event: dict[str, Any]) -> TurnAnswer:
        text: str = event["text"]
        if self._again or not self._heard:
            goes_on = text.startswith(self._heard)
            self._hear(Words(text[len(self._heard) :] if goes_on else f"\n\n{text}"))
        return TurnAnswer(text, event["status"], None if event["status"] == COMPLETED else event.get("detail"))


def _entries_of(session: dict[str, Any]) -> list[ConversationEntry]:
    """A session as the conversation of each key that leads to it."""
    summary = session["summary"]
    about = str(summary["title"] or f"{session['headSeq']} events")
    return [ConversationEntry(key, session["updatedAt"], about) for key in summary["keys"] if key.startswith(KEYS)]


def checked_key(key: str) -> str:
    """A key of a gateway's own agent; InvalidInput if it is none."""
    if not key.startswith(KEYS) or key == KEYS:
        raise InvalidInput(
            f"{key!r:.80} is not a key of the gateway's agent",
            hint=f"its keys begin with {KEYS}; {KEYS}a2a:C is the A2A context C",
        )
    return key
