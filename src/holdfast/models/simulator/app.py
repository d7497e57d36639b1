"""The simulator as a service: OpenAI's chat completions, and a log of what it answered and why."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from holdfast.core import Clock, HoldfastError, IdSource, SystemClock, TimeOrderedIds
from holdfast.models.errors import ModelBusy
from holdfast.models.simulator import chat_request, chat_response
from holdfast.models.simulator.answer import answer
from holdfast.models.simulator.log import AnswerLog

MODEL = "sim-1"


class Simulator:
    """The routes, and what they share: the log of answers, and word that the service stops."""

    def __init__(self, stopping: asyncio.Event, clock: Clock, ids: IdSource) -> None:
        self._stopping = stopping
        self._clock = clock
        self._ids = ids
        self._log = AnswerLog()

    async def chat_completions(self, request: Request) -> Response:
        """An answer to a prompt, in one piece or streamed, after the time that it asks to think for."""
        asked = chat_request.read(await request.body())
        given = answer(asked.messages, asked.tools)
        now = self._clock.now()
        self._log.add(now, asked.messages, given)
        envelope = chat_response.Envelope(f"chatcmpl-{self._ids()}", asked.model, now // 1000)
        if asked.stream:
            chunks = chat_response.stream(envelope, given.response, include_usage=asked.include_usage)
            return StreamingResponse(self._later(given.delay, chunks), media_type="text/event-stream")
        await self._think(given.delay)
        return JSONResponse(chat_response.document(envelope, given.response))

    async def models(self, request: Request) -> Response:
        """The one model there is; a request may name it, or any other."""
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "holdfast"}
        return JSONResponse({"object": "list", "data": [model]})

    async def health(self, request: Request) -> Response:
        """That it runs."""
        return JSONResponse({"status": "ok"})

    async def log(self, request: Request) -> Response:
        """The newest answers and where each came from."""
        return JSONResponse(self._log.document())

    async def _later(self, seconds: float, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
        try:
            await self._think(seconds)
        except ModelBusy as error:
            chunks = iter([chat_response.event(_error(error.status, error.message, error.code))])
        for chunk in chunks:
            yield chunk

    async def _think(self, seconds: float) -> None:
        """Wait; ModelBusy if the service stops first."""
        if not seconds:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
        raise ModelBusy("the simulator stopped while it was thinking")


def create_app(
    stopping: asyncio.Event | None = None, clock: Clock | None = None, ids: IdSource | None = None
) -> Starlette:
    """A simulator with an empty log; once `stopping` is set, thoughts are cut short with an error."""
    simulator = Simulator(stopping or asyncio.Event(), clock or SystemClock(), ids or TimeOrderedIds())
    return Starlette(
        routes=[
            Route("/v1/chat/completions", simulator.chat_completions, methods=["POST"]),
            Route("/v1/models", simulator.models),
            Route("/health", simulator.health),
            Route("/log", simulator.log),
        ],
        exception_handlers={HoldfastError: _refuse, HTTPException: _refuse},
    )


async def _refuse(request: Request, error: Exception) -> Response:
    """An error in the shape that OpenAI's clients read."""
    if isinstance(error, HoldfastError):
        return JSONResponse(_error(error.status, error.message, error.code), error.status)
    assert isinstance(error, HTTPException)
    return JSONResponse(_error(error.status_code, error.detail, None), error.status_code, error.headers)


def _error(status: int, message: str, code: str | None) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
