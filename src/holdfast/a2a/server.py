"""The A2A server: both wire versions on one URL, and the agent card."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holdfast.a2a import rpc
from holdfast.a2a.card import agent_card
from holdfast.a2a.handler import Handler
from holdfast.a2a.recovery import Recovery
from holdfast.a2a.rpc import Call, CallId, RpcError
from holdfast.a2a.runner import TurnRunner
from holdfast.a2a.turn_queue import TurnQueue
from holdfast.a2a.turns import Turns
from holdfast.a2a.versions import HEADER, wire_for
from holdfast.a2a.wire import Operation
from holdfast.core import HoldfastError, TimeOrderedIds
from holdfast.store import Store

PATH = "/a2a"
MAX_BODY = 16 * 1024 * 1024
RETRY_AFTER_SECONDS = "1"

log = logging.getLogger("holdfast.a2a")


class A2AServer:
    """One agent's handler behind A2A, its conversations in a store. `url` is the base URL that clients reach; without
    one each is told the address that it used.

    Where requests come from several tenants, `store_of` gives each request its tenant's view of the store; tenants
    share nothing, workspaces included.
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
        store_of: Callable[[Request], Store] | None = None,
    ) -> None:
        self._ids = TimeOrderedIds()
        self._owner = f"a2a-{self._ids()}"
        self._queue = TurnQueue()
        self._recovery = Recovery(store, self._queue, owner=self._owner, ids=self._ids)
        self._handler = handler
        self._agent = agent
        self._workspace = workspace
        self._store_of = store_of or (lambda _request: store)
        self._turns = {store.tenant: self._turns_in(store, workspace)}
        self._name = name
        self._version = version
        self._url = url

    @property
    def routes(self) -> list[Route]:
        """Where it is to be mounted: at the root."""
        return [
            Route(PATH, self._post, methods=["POST"]),
            Route("/.well-known/agent-card.json", self._card),
            Route("/agent-card", self._card),
        ]

    async def start(self, alone: bool) -> None:
        """Say that this server lives, and end what a dead one left; alone: no other process uses the store."""
        await self._recovery.start(alone=alone)

    async def stop(self, grace_seconds: float = 5.0) -> None:
        """Accept no new turn; running ones get the grace, then fail with a reason."""
        await asyncio.gather(*(turns.stop(grace_seconds) for turns in self._turns.values()))
        await self._recovery.stop()

    def _turns_of(self, store: Store) -> Turns:
        """The turns of a tenant."""
        found = self._turns.get(store.tenant)
        if found is None:
            workspace = self._workspace.with_name(f"{self._workspace.name}-{store.tenant}")
            workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self._turns[store.tenant] = self._turns_in(store, workspace)
        return found

    def _turns_in(self, store: Store, workspace: Path) -> Turns:
        runner = TurnRunner(store, self._handler, self._queue, owner=self._owner, workspace=workspace, ids=self._ids)
        return Turns(store, runner, agent=self._agent, owner=self._owner, ids=self._ids)

    async def _card(self, request: Request) -> Response:
        base = self._url() if callable(self._url) else self._url or str(request.base_url)
        endpoint = base.rstrip("/").removesuffix(PATH) + PATH
        return JSONResponse(agent_card(self._name, self._version, endpoint))

    async def _post(self, request: Request) -> Response:
        call_id: CallId = None
        try:
            value = rpc.parse(await _body(request))
            call_id = rpc.id_of(value)
            version = request.headers.get(HEADER) or request.query_params.get(HEADER) or ""
            turns = self._turns_of(self._store_of(request))
            return JSONResponse(rpc.answer(call_id, await _perform(turns, rpc.call_in(value), version)))
        except RpcError as error:
            return _failure(call_id, error)
        except HoldfastError as error:
            return _failure(call_id, rpc.refusal(error))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception:
            log.exception("a request to A2A met a defect of ours")
            return _failure(call_id, RpcError(rpc.INTERNAL_ERROR, "Internal error", status=500))


async def _perform(turns: Turns, call: Call, version: str) -> dict[str, Any]:
    wire = wire_for(version, call.method)
    match wire.OPERATIONS[call.method]:
        case Operation.SEND:
            return wire.sent(await turns.send(wire.send_request(call.params)))
        case Operation.GET:
            return wire.task(await turns.get(wire.task_request(call.params)))
        case Operation.CANCEL:
            return wire.task(await turns.cancel(wire.task_request(call.params)))
        case Operation.PUSH:
            raise RpcError(rpc.PUSH_NOT_SUPPORTED, "Push notifications are not supported")
        case Operation.LIST | Operation.STREAM | Operation.EXTENDED_CARD as operation:
            raise RpcError(rpc.UNSUPPORTED_OPERATION, f"Unsupported operation: {operation.value}")


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise RpcError(rpc.INVALID_REQUEST, f"Invalid request: more than {MAX_BODY} bytes", status=413)
    return bytes(body)


def _failure(call_id: CallId, error: RpcError) -> Response:
    response = JSONResponse(rpc.failure(call_id, error), error.status)
    if error.status == 503:
        response.headers["Retry-After"] = RETRY_AFTER_SECONDS
    return response
