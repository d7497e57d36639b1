"""An agent that does what the words of a message say, and raw clients of both versions: dictionaries, no SDK.

The text of the standard decides what is right, so nothing here knows the server's own types beyond the outputs of a
handler.
"""

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from tests.a2a.harness import SECONDS, Client, Stream, events_in
from tests.support.eventually import eventually

from holdfast.a2a import Artifact, DataPart, InputRequired, Output, Rejected, Reply, Status, TextPart, Turn

Json = dict[str, Any]


@dataclass(slots=True)
class Script:
    """A handler whose answer is what the message asks for; `hold` waits until the test lets its context go on."""

    turns: dict[str, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _gates: dict[str, asyncio.Semaphore] = field(default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(0)))

    async def __call__(self, turn: Turn) -> AsyncIterator[Output]:
        self.turns[turn.context_id].append(turn)
        for word in turn.text.split():
            match word:
                case "hold":
                    await self._gates[turn.context_id].acquire()
                case "ask":
                    yield InputRequired("Which one?")
                    return
                case "reply":
                    yield Reply.of("hello back")
                    return
                case "refuse":
                    yield Rejected("I would rather not.")
                    return
                case "fail":
                    raise RuntimeError(word)
                case "busy":
                    yield Status("busy")
                case "result":
                    yield Artifact((TextPart("a table"), DataPart({"rows": 1})), name="table")
                case "twice":
                    yield Artifact((TextPart("draft"),), "report")
                    yield Artifact((TextPart("final"),), "report")
                case "nothing":
                    yield Artifact(())
                case "speechless":
                    yield Reply(())
                case _:
                    yield word + " "

    def let(self, context_id: str) -> None:
        """Let one `hold` of a context go on."""
        self._gates[context_id].release()

    async def begun(self, context_id: str, turns: int = 1) -> None:
        """Wait until so many turns of a context have begun."""

        async def enough() -> bool:
            return len(self.turns[context_id]) >= turns

        await eventually(enough)


@dataclass(slots=True)
class Speaker:
    """A client of one version; `name` gives ids that no other test of the module has."""

    version: str
    client: Client
    script: Script
    _count: Any = field(default_factory=lambda: itertools.count(1))

    def name(self, prefix: str = "c") -> str:
        """A new id."""
        return f"{prefix}-{self.version}-{next(self._count)}"

    async def post(self, body: bytes | Json, **headers: str) -> httpx2.Response:
        """The HTTP answer to a body."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Content-Type": "application/json"} | ({"A2A-Version": "1.0"} if self.version == "1.0" else {}) | named
        return await self.client.http.post(self.client.url + "/a2a", content=content, headers=sent)

    async def envelope(self, method: str, params: Any = None, **headers: str) -> Json:
        """The JSON-RPC answer, be it as the only event of a stream."""
        [only] = await self.envelopes(method, params, **headers)
        return only

    async def envelopes(self, method: str, params: Any = None, **headers: str) -> list[Json]:
        """All answers to one request, once the last has come."""
        response = await self.post(request(method, params), **headers)
        is_stream = response.headers["content-type"].startswith("text/event-stream")
        return [json.loads(text) for text in (events_in(response.text) if is_stream else [response.text])]

    async def result(self, method: str, params: Any = None) -> Any:
        """The result of a request that is met."""
        answer = await self.envelope(method, params)
        assert "result" in answer, answer
        return answer["result"]

    async def results(self, method: str, params: Any = None) -> list[Json]:
        """The results of a whole stream."""
        return [answer["result"] for answer in await self.envelopes(method, params)]

    async def error(self, method: str, params: Any = None) -> Json:
        """The error of a request that is not met."""
        answer = await self.envelope(method, params)
        assert "error" in answer, answer
        error: Json = answer["error"]
        return error

    async def taken(self, method: str, params: list[Json]) -> list[Json]:
        """Those params that are not refused as invalid."""
        return [each for each in params if (await self.envelope(method, each)).get("error", {}).get("code") != -32602]

    async def code(self, method: str, params: Any = None) -> int:
        """The code of the error."""
        code: int = (await self.error(method, params))["code"]
        return code

    def stream(self, method: str, params: Any) -> AbstractAsyncContextManager[Stream]:
        """The results of a stream, one by one."""
        return self.client.stream(method, params, "1.0" if self.version == "1.0" else None)

    def message(self, text: str, configuration: Json | None = None, **members: Any) -> Json:
        """The params of a text message."""
        part = {"text": text} if self.version == "1.0" else {"kind": "text", "text": text}
        body: Json = {"messageId": self.name("m"), "parts": [part]}
        body |= {"role": "ROLE_USER"} if self.version == "1.0" else {"role": "user", "kind": "message"}
        return {"message": body | members} | ({} if configuration is None else {"configuration": configuration})

    async def send(self, text: str, **members: Any) -> Json:
        """The task of a message, once it rests."""
        if self.version == "1.0":
            task: Json = (await self.result("SendMessage", self.message(text, **members)))["task"]
        else:
            task = await self.result("message/send", self.message(text, {"blocking": True}, **members))
        return task

    async def start(self, text: str, **members: Any) -> Json:
        """The task of a message, as soon as its turn has begun."""
        if self.version == "1.0":
            params = self.message(text, {"returnImmediately": True}, **members)
            task: Json = (await self.result("SendMessage", params))["task"]
        else:
            task = await self.result("message/send", self.message(text, {"blocking": False}, **members))
        await self.script.begun(task["contextId"])
        return task


def request(method: str, params: Any = None, call_id: Any = "r1") -> Json:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": call_id, "method": method} | ({} if params is None else {"params": params})


async def rest_of(stream: Stream) -> list[Json]:
    """What a stream still brings, which ends within the patience of a test."""
    async with asyncio.timeout(SECONDS):
        return await stream.rest()


def put_together(artifacts: list[Json], updates: list[Json]) -> dict[str, list[Any]]:
    """The parts of each artifact after updates, by the rule of `append`; pieces of text become one text."""
    parts = {artifact["artifactId"]: artifact["parts"] for artifact in artifacts}
    for update in updates:
        name = update["artifact"]["artifactId"]
        assert not update.get("append") or name in parts, "there is something to append to"
        parts[name] = (parts[name] if update.get("append") else []) + update["artifact"]["parts"]
    return {name: _joined(each) for name, each in parts.items()}


def _joined(parts: list[Json]) -> list[Any]:
    texts = [part["text"] for part in parts if "text" in part]
    return ["".join(texts), *(part for part in parts if "text" not in part)]


def members_in(value: Any) -> set[str]:
    """The names of all members of all objects in a value."""
    if isinstance(value, dict):
        return set(value) | {name for each in value.values() for name in members_in(each)}
    return {name for each in value for name in members_in(each)} if isinstance(value, list) else set()
