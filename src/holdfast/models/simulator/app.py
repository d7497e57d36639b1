"""The simulator as a service: the APIs of OpenAI and Anthropic, and a log of what it answered and why."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from holdfast.core import Clock, HoldfastError, IdSource, SystemClock, TimeOrderedIds, strict_json
from holdfast.core.errors import InvalidInput
from holdfast.http.server_sent_events import EVENTS
from holdfast.models.errors import ModelBusy
from holdfast.models.simulator import catalogue, control
from holdfast.models.simulator.answer import SimulatorAnswer, answer
from holdfast.models.simulator.catalogue import Uploads
from holdfast.models.simulator.control import Fault, FaultQueue, Script, ScriptLine
from holdfast.models.simulator.log import AnswerLog
from holdfast.models.simulator.measures import count_tokens
from holdfast.models.simulator.wire.api import AnswerHead, Api, ApiProblem, ModelRequest
from holdfast.models.simulator.wire.chat import CHAT
from holdfast.models.simulator.wire.messages import MESSAGES, read_to_count
from holdfast.models.simulator.wire.responses import RESPONSES


class SimulatorPause:
    """Waits; ModelBusy if the service stops first."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping

    async def __call__(self, seconds: float) -> None:
        """Wait for some seconds."""
        if not seconds:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
        raise ModelBusy("the simulator stopped while it was thinking")


class CutResponse(Response):
    """Pieces of an answer after which the connection breaks: the client never sees its end."""

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces, and leave without a last one: the server then closes the connection."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})


def first_half(pieces: Sequence[bytes]) -> list[bytes]:
    """What is sent of an answer that is cut: of one that is whole, half of its bytes."""
    if len(pieces) == 1:
        return [pieces[0][: len(pieces[0]) // 2]]
    return list(pieces[: max(1, len(pieces) // 2)])


@dataclass(frozen=True, slots=True)
class SimulatorSettings:
    """How a simulator behaves: seconds before each answer and between the pieces of a streamed one, the answers
    to give instead of its own, and the faults that the first requests meet."""

    latency: float = 0.0
    chunk_delay: float = 0.0
    script: Sequence[ScriptLine] | None = None
    faults: Sequence[Fault] = ()


class Simulator:
    """The routes, and what they share: the log, the faults that wait, the uploads, and the place in the script."""

    def __init__(self, settings: SimulatorSettings, stopping: asyncio.Event, clock: Clock, ids: IdSource) -> None:
        self._settings = settings
        self._pause = SimulatorPause(stopping)
        self._clock = clock
        self._ids = ids
        self._begin()

    def _begin(self) -> None:
        self._log = AnswerLog()
        self._faults = FaultQueue(self._settings.faults)
        self._uploads = Uploads(self._ids)
        self._script = None if self._settings.script is None else Script(self._settings.script)

    async def answer(self, request: Request, api: Api) -> Response:
        """An answer to a prompt, in one piece or streamed; or the fault that is due."""
        asked = api.read(await request.body())
        asked = replace(asked, messages=self._uploads.into(asked.messages))
        fault = control.fault_from_header(request.headers.get(control.HEADER)) or self._faults.take()
        now = self._clock.now()
        if fault and fault.status:
            self._log.add(now, api.name, asked, None, fault.kind)
            return _refusal(api, ApiProblem(fault.status, f"the simulator was told to fail with {fault.kind}"), fault)
        given = self._script.next(asked.messages) if self._script else answer(asked.messages, asked.tools)
        self._log.add(now, api.name, asked, given, fault.kind if fault else None)
        envelope = AnswerHead(f"{api.prefix}{self._ids()}", asked.model, now // 1000, asked.include_usage)
        return await self._send(api, asked, envelope, given, fault)

    async def _send(
        self, api: Api, asked: ModelRequest, envelope: AnswerHead, given: SimulatorAnswer, fault: Fault | None
    ) -> Response:
        wait = given.delay + self._settings.latency + (fault.seconds if fault and fault.kind == control.SLOW else 0)
        cut = fault is not None and fault.kind == control.CUT
        if not asked.stream:
            await self._pause(wait)
            document = api.document(envelope, given.response)
            if cut:
                return CutResponse(_each(first_half([strict_json.encode(document)])), "application/json")
            return JSONResponse(document)
        pieces: Iterable[bytes] = api.stream(envelope, given.response)
        pace = given.pace or self._settings.chunk_delay
        if cut:
            return CutResponse(self._later(api, wait, pace, first_half(list(pieces))), EVENTS)
        return StreamingResponse(self._later(api, wait, pace, pieces), media_type=EVENTS)

    async def _later(self, api: Api, wait: float, pace: float, pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
        try:
            await self._pause(wait)
            for piece in pieces:
                yield piece
                await self._pause(pace)
        except ModelBusy as error:
            yield api.error_event(_problem(error))

    async def count_tokens(self, request: Request) -> Response:
        """What a prompt to Anthropic's API costs."""
        asked = read_to_count(await request.body())
        counted = count_tokens(asked.messages, "", ())
        return JSONResponse({"input_tokens": counted["prompt_tokens"]})

    async def upload(self, request: Request) -> Response:
        """A file, kept so that a prompt can name it by its id."""
        async with request.form(max_files=1) as form:
            file, purpose = form.get("file"), form.get("purpose")
            if file is None or isinstance(file, str):
                raise InvalidInput("the form has no file", hint="send multipart/form-data with a field named file")
            upload = self._uploads.add(
                file.filename or "unnamed",
                file.content_type or "application/octet-stream",
                purpose if isinstance(purpose, str) else "user_data",
                self._clock.now() // 1000,
                await file.read(),
            )
        return JSONResponse(catalogue.file(upload, anthropic=_is_anthropic(request)))

    async def file(self, request: Request) -> Response:
        """What is known of an upload."""
        upload = self._uploads.get(request.path_params["file_id"])
        return JSONResponse(catalogue.file(upload, anthropic=_is_anthropic(request)))

    async def log(self, request: Request) -> Response:
        """The newest answers and where each came from."""
        return JSONResponse(self._log.document())

    async def faults(self, request: Request) -> Response:
        """The faults that wait for a request, after those that are sent have been added."""
        if request.method == "POST":
            self._faults.add(control.faults_from_body(await request.body()))
        return JSONResponse(self._faults.document())

    async def reset(self, request: Request) -> Response:
        """Everything as it was at the start."""
        self._begin()
        return JSONResponse({"status": "ok"})


async def _models(request: Request) -> Response:
    """The one model there is; a request may name it, or any other."""
    return JSONResponse(catalogue.models())


async def _model(request: Request) -> Response:
    """A model: whatever it is called, it is the same one."""
    return JSONResponse(catalogue.model(request.path_params["model"]))


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def create_app(
    stopping: asyncio.Event | None = None,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    settings: SimulatorSettings | None = None,
) -> Starlette:
    """A simulator with an empty log; once `stopping` is set, thoughts are cut short with an error."""
    simulator = Simulator(
        settings or SimulatorSettings(), stopping or asyncio.Event(), clock or SystemClock(), ids or TimeOrderedIds()
    )
    return Starlette(
        routes=[
            Route("/v1/chat/completions", _answering(simulator, CHAT), methods=["POST"]),
            Route("/v1/responses", _answering(simulator, RESPONSES), methods=["POST"]),
            Route("/v1/messages", _answering(simulator, MESSAGES), methods=["POST"]),
            Route("/v1/messages/count_tokens", simulator.count_tokens, methods=["POST"]),
            Route("/v1/files", simulator.upload, methods=["POST"]),
            Route("/v1/files/{file_id}", simulator.file),
            Route("/v1/models", _models),
            Route("/api/v1/models", _models),
            Route("/v1/models/{model:path}", _model),
            Route("/api/hello", _health),
            Route("/health", _health),
            Route("/log", simulator.log),
            Route("/faults", simulator.faults, methods=["GET", "POST"]),
            Route("/reset", simulator.reset, methods=["POST"]),
        ],
        exception_handlers={HoldfastError: _refuse, HTTPException: _refuse},
    )


def _answering(simulator: Simulator, api: Api) -> Any:
    return partial(simulator.answer, api=api)


async def _refuse(request: Request, error: Exception) -> Response:
    """An error in the shape that the API's clients read."""
    api = MESSAGES if _is_anthropic(request) else CHAT
    if isinstance(error, HoldfastError):
        return _refusal(api, _problem(error))
    assert isinstance(error, HTTPException)
    return JSONResponse(api.error(ApiProblem(error.status_code, error.detail)), error.status_code, error.headers)


def _refusal(api: Api, problem: ApiProblem, fault: Fault | None = None) -> Response:
    headers = {"retry-after": str(fault.retry_after)} if fault and fault.retry_after is not None else None
    return JSONResponse(api.error(problem), problem.status, headers)


def _problem(error: HoldfastError) -> ApiProblem:
    said = f"{error.message}; {error.hint}" if error.hint else error.message
    return ApiProblem(error.status, said, error.code)


def _is_anthropic(request: Request) -> bool:
    return request.url.path.startswith("/v1/messages") or "anthropic-version" in request.headers


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
