"""The A2A server: both wire versions on one URL, uploads beside it, and the agent card.

A call must say that it is JSON. The standard asks for that, and it is also what keeps pages in browsers out: without
asking first, a page can send text and forms to any address, and never what says that it is JSON.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.a2a.dispatch import VersionedCall, follow, is_always_a_stream, perform, read_call
from holdfast.a2a.files.uploads import uploads_route
from holdfast.a2a.handler import Handler
from holdfast.a2a.protocol import rpc
from holdfast.a2a.protocol.card import AgentDescription, Form, agent_card, card_answer
from holdfast.a2a.protocol.rpc import CallId, RpcError
from holdfast.a2a.protocol.versions import HEADER, A2AVersion
from holdfast.a2a.protocol.wire import READING, News, Operation
from holdfast.a2a.push.push import PostObserver
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.a2a.turns.agent_services import AgentServices
from holdfast.a2a.turns.timing import TurnTiming
from holdfast.a2a.turns.turns import TurnObserver, Turns
from holdfast.core import HoldfastError
from holdfast.core.errors import Closing
from holdfast.core.retry import SECONDS_AT_LEAST, UNAVAILABLE
from holdfast.http.answers import JsonLine
from holdfast.http.event_stream import HEADERS, HEARTBEAT_SECONDS, Answers, AnswerStream, never
from holdfast.http.hang_ups import WaitingClient
from holdfast.http.server_sent_events import EVENTS, ascii_event
from holdfast.store import Store

PATH = "/a2a"
PATHS = (PATH, PATH + "/")
REPLY_SECONDS = 0.5
JSON_TYPES = frozenset({"application/json", "application/a2a+json"})
MAX_BODY = 68 * 1024 * 1024
"""Room for 50 MiB of files as they are written in JSON."""

log = logging.getLogger("holdfast.a2a")


class A2AServer:
    """One agent's handler behind A2A, its conversations in a store. `url` is the base URL that clients reach; without
    one each is told the address that it used. `card` is the form of the agent card, `asks_for_token` what it says of
    callers, and `asks_for_approval` that the agent can be told to ask before it acts; `resume` lets a turn be begun
    again that a process died in; `reply_seconds` is how long a stream waits for a plain `Reply` before it shows a task;
    `guard` says where news may be posted, `timing` how long turns wait.

    Where requests come from several tenants, `store_of` gives each request its tenant's view of the store; tenants
    share nothing, workspaces included. `caller_of` names a request's sender where senders are known apart. `refuse` is
    the answer to a caller that may not do what it asks for, None to one that may; `until_refused` returns when a
    request's caller may no longer be told more; `rested` hears of every turn that is over, and `posted` of every post.
    """

    def __init__(
        self,
        store: Store,
        handler: Handler,
        *,
        agent: str = "main",
        name: str = "holdfast",
        version: str,
        workspace: Path,
        url: Callable[[], str] | str | None,
        card: Form = "1.0",
        asks_for_token: bool = False,
        asks_for_approval: bool = False,
        resume: bool = False,
        reply_seconds: float = REPLY_SECONDS,
        guard: UrlGuard | None = None,
        timing: TurnTiming | None = None,
        store_of: Callable[[Request], Store] | None = None,
        caller_of: Callable[[Request], str | None] | None = None,
        refuse: Callable[[Request, Operation], Response | None] | None = None,
        until_refused: Callable[[Request], Coroutine[Any, Any, None]] | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        rested: TurnObserver | None = None,
        posted: PostObserver | None = None,
    ) -> None:
        self._services = AgentServices(
            store,
            handler,
            agent=agent,
            workspace=workspace,
            resume=resume,
            reply_seconds=reply_seconds,
            guard=guard or UrlGuard(),
            timing=timing,
            rested=rested,
            posted=posted,
        )
        self._store_of = store_of or (lambda _request: store)
        self._caller_of = caller_of or (lambda _request: None)
        self._refuse = refuse or (lambda _request, _operation: None)
        self._until_refused = until_refused
        self._described = AgentDescription(name, version, asks_for_token, asks_for_approval)
        self._form: Form = card
        self._url = url
        self._heartbeat_seconds = heartbeat_seconds
        self._made_at = time.time()
        self._stopped = asyncio.Event()

    @property
    def routes(self) -> list[Route]:
        """Where it is to be mounted: at the root."""
        return [
            *(Route(path, self._post, methods=["POST"]) for path in PATHS),
            uploads_route(lambda request: self.turns_of(request).files),
            Route("/.well-known/agent-card.json", self._card),
            Route("/agent-card", self._card),
        ]

    async def start(self, alone: bool) -> None:
        """Say that this server lives, and settle what a dead one left; alone: no other process uses the store."""
        await self._services.start(alone=alone)

    async def stop(self, grace_seconds: float = 5.0) -> None:
        """Accept and begin no new turn; running ones get the grace, then are left to be resumed, or fail with a reason
        where they cannot be. Whoever follows is let go."""
        try:
            await self._services.stop(grace_seconds)
        finally:
            self._stopped.set()

    def turns_of(self, request: Request) -> Turns:
        """The turns of the tenant that asks."""
        return self._services.turns_of(self._store_of(request))

    async def _card(self, request: Request) -> Response:
        return card_answer(request, self._card_for(request, self._form), self._made_at)

    def _card_for(self, request: Request, form: Form) -> dict[str, Any]:
        base = self._url() if callable(self._url) else self._url or str(request.base_url)
        return agent_card(self._described, base.rstrip("/").removesuffix(PATH) + PATH, form)

    async def _post(self, request: Request) -> Response:
        call_id: CallId = None
        in_events = False
        try:
            check_json(request)
            body = await body_of(request)
            value = await rpc.parse(body, self._store_of(request).tenant)
            call_id = rpc.id_of(value)
            version = request.headers.get(HEADER) or request.query_params.get(HEADER) or ""
            in_events = is_always_a_stream(rpc.method_of(value), version)
            call = read_call(rpc.call_in(value), version, self._caller_of(request))
            return self._refuse(request, call.operation) or await self._answer(request, call_id, call)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            return _failure(call_id, _refusal(error), in_events)

    async def _answer(self, request: Request, call_id: CallId, call: VersionedCall) -> Response:
        turns = self.turns_of(request)
        if call.streams:
            return await self._stream(request, call_id, call, follow(turns, call))
        cards = partial(self._card_for, request) if self._described.asks_for_token else None
        if call.operation not in READING:
            return JsonLine(rpc.answer(call_id, await perform(turns, call, cards)))
        with WaitingClient(request.receive).watch():
            return JsonLine(rpc.answer(call_id, await perform(turns, call, cards)))

    async def _stream(
        self, request: Request, call_id: CallId, call: VersionedCall, news: AsyncGenerator[News]
    ) -> Response:
        """The stream, once its first item is there: what cannot even begin is told at once."""
        first = await anext(news)
        return AnswerStream(
            answers(call_id, call.wire, first, news),
            stopping=self._stopped,
            cut_off=rpc.failure(call_id, rpc.refusal(Closing("the server is stopping"))),
            refused=partial(self._until_refused, request) if self._until_refused else never,
            heartbeat_seconds=self._heartbeat_seconds,
        )


def check_json(request: Request) -> None:
    """RpcError unless the request says that its body is JSON."""
    said = request.headers.getlist("content-type")
    kinds = {each.partition(";")[0].strip().lower() for each in said}
    if not kinds or not kinds <= JSON_TYPES:
        shown = f"{', '.join(said)!r:.80}" if said else "nothing"
        why = f"Incompatible content types: the Content-Type of a call is application/json, and this one says {shown}"
        raise RpcError(rpc.CONTENT_TYPE_NOT_SUPPORTED, why, status=415)


async def body_of(request: Request) -> bytes:
    """The whole body, or RpcError as soon as it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise RpcError(rpc.INVALID_REQUEST, f"Invalid request: more than {MAX_BODY} bytes", status=413)
    return bytes(body)


async def answers(call_id: CallId, wire: A2AVersion, first: News, news: AsyncGenerator[News]) -> Answers:
    """Every item as an answer; an error is the last."""
    try:
        async with aclosing(news):
            yield rpc.answer(call_id, wire.news(first))
            async for item in news:
                yield rpc.answer(call_id, wire.news(item))
    except Exception as error:
        yield rpc.failure(call_id, _refusal(error))


def _refusal(error: Exception) -> RpcError:
    """What went wrong, as the client is told it."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, HoldfastError):
        return rpc.refusal(error)
    log.error("a request to A2A met a defect of ours", exc_info=error)
    return RpcError(rpc.INTERNAL_ERROR, "Internal error", status=500)


def _failure(call_id: CallId, error: RpcError, in_events: bool) -> Response:
    """The error as an answer; `in_events` as the only event of a stream, unless it is one of HTTP as well."""
    if in_events and error.status == 200:
        return Response(ascii_event(rpc.failure(call_id, error)), headers=HEADERS, media_type=EVENTS)
    response = JsonLine(rpc.failure(call_id, error), error.status)
    if error.status == UNAVAILABLE:
        response.headers["Retry-After"] = str(SECONDS_AT_LEAST)
    return response
