"""The second agent: a small A2A server inside the prover that knows a secret and writes down who asked for it.

Its address is settled beforehand, so that a target can be told of it before either runs. It answers every question with
a plain message, over A2A 1.0 and 0.3; one that begins with `wait N seconds` after so many, so that whoever asked can
be killed when the question has been put and no answer is there.
"""

import asyncio
import re
from contextlib import suppress
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from holdfast.core import HoldfastError, strict_json

MAX_BODY = 1024 * 1024
PATIENCE_SECONDS = 30.0
WAIT = re.compile(r"\s*wait (\d{1,2}) seconds", re.IGNORECASE)


class PeerQuestion(NamedTuple):
    """What the peer was asked: in which context, in which words, by which message."""

    context_id: str
    text: str
    message_id: str


class Peer:
    """An agent that tells its secret to whoever asks for the password; an async context manager while it serves."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self.questions: list[PeerQuestion] = []
        self._secret = secret
        self._server: asyncio.Server | None = None
        self._held: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        where = urlsplit(self.url)
        self._server = await asyncio.start_server(self._take, where.hostname, where.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for serving in self._held:
            serving.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(self._serve(reader, writer))
        self._held.add(serving)
        serving.add_done_callback(self._held.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one answer, and the connection is closed."""
        try:
            with suppress(OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    method, body = await _request(reader)
                    answer = strict_json.dump(self._card() if method == "GET" else await self._answer(body))
                    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n"
                    writer.write(head.encode() + b"Connection: close\r\n\r\n" + answer)
                    await writer.drain()
        finally:
            writer.close()

    async def _answer(self, body: bytes) -> dict[str, Any]:
        try:
            call = strict_json.parse(body)
            answer, method = {"jsonrpc": "2.0", "id": call["id"]}, call["method"]
            if method not in {"SendMessage", "message/send"}:
                return {**answer, "error": {"code": -32601, "message": "this agent only answers messages"}}
            message = call["params"]["message"]
            question = self._write_down(message)
            await asyncio.sleep(_seconds_to_wait(question))
            text = self._tell(question)
            said = {"messageId": f"peer-{len(self.questions)}", "contextId": message.get("contextId") or "alone"}
        except (ValueError, LookupError, TypeError, AttributeError, HoldfastError):
            return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "this is no message"}}
        if method == "SendMessage":
            return {**answer, "result": {"message": {**said, "role": "ROLE_AGENT", "parts": [{"text": text}]}}}
        old = {"kind": "message", **said, "role": "agent", "parts": [{"kind": "text", "text": text}]}
        return {**answer, "result": old}

    def _write_down(self, message: dict[str, Any]) -> PeerQuestion:
        asked = "\n".join(part["text"] for part in message["parts"] if "text" in part)
        self.questions.append(PeerQuestion(message.get("contextId") or "", asked, message.get("messageId") or ""))
        return self.questions[-1]

    def _tell(self, question: PeerQuestion) -> str:
        asks = "password" in question.text.lower()
        return f"The user's password is {self._secret}." if asks else "Ask me for the password."

    def _card(self) -> dict[str, Any]:
        return {
            "name": "the peer of a proof",
            "description": "Knows a password.",
            "version": "1",
            "protocolVersion": "0.3.0",
            "url": self.url,
            "preferredTransport": "JSONRPC",
            "supportedInterfaces": [
                {"url": self.url, "protocolBinding": "JSONRPC", "protocolVersion": version}
                for version in ("1.0", "0.3")
            ],
            "capabilities": {"streaming": False},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "password", "name": "password", "description": "Tells the password.", "tags": []}],
        }


def _seconds_to_wait(question: PeerQuestion) -> float:
    found = WAIT.match(question.text)
    return float(found[1]) if found else 0.0


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """The method and the body of a request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = int(headers.get("content-length", "0"))
    if size > MAX_BODY:
        raise ValueError("a question of more than a megabyte")
    return first.split(" ")[0], await reader.readexactly(size)
