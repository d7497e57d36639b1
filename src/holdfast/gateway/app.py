"""The gateway as an ASGI application over an open store.

The busy routes are plain ones and stand in front of FastAPI's; all share the layers, the error shape and one OpenAPI
document.
"""

from collections.abc import Callable, Iterable
from functools import cache

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import ASGIApp

from holdfast.a2a.server import PATHS as AGENT
from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.gateway.access.audit import Audits
from holdfast.gateway.access.auth import Auth
from holdfast.gateway.agent import AgentServer
from holdfast.gateway.api import dashboard, openapi
from holdfast.gateway.api.docs import Docs
from holdfast.gateway.connections.headers import SecurityHeaders
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.rates import RateLimit, Rates
from holdfast.gateway.errors import NoRoute, Unexpected, WrongMethod
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.layers import BodyLimit, BusyRoutes, LastAnswers, Problems
from holdfast.gateway.live.sse import ServerSentEvents
from holdfast.gateway.live.websocket import Live
from holdfast.gateway.mcp import PATH as MCP
from holdfast.gateway.mcp.message import LARGEST_CALL
from holdfast.gateway.mcp.mount import McpMount
from holdfast.gateway.operations import metrics
from holdfast.gateway.operations.logs import Logs
from holdfast.gateway.operations.traffic import Traffic
from holdfast.gateway.overview import routes as overview
from holdfast.gateway.proofs import routes as proofs
from holdfast.gateway.routes import (
    access,
    archives,
    changes,
    chat,
    checkpoints,
    children,
    forks,
    interruption,
    keys,
    queries,
    service,
    sessions,
    states,
    transfer,
    upkeep,
)
from holdfast.gateway.routes.actions import Actions
from holdfast.gateway.routes.dashboard import (
    attachments,
    caller,
    events,
    family,
    markdown,
    memories,
    state_versions,
    tasks,
    verification,
)
from holdfast.http.answers import problem_answer
from holdfast.http.event_stream import HEARTBEAT_SECONDS
from holdfast.http.hang_ups import HangUps
from holdfast.http.hosts import HostCheck, parse_origin
from holdfast.store import Store
from holdfast.store.operators import LARGEST_PROOF


def create_app(
    store: Store,
    *,
    gateway: Gateway | None = None,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    agent: AgentServer | None = None,
    limits: ConnectionLimits | None = None,
    logs: Logs | None = None,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> FastAPI:
    """The application; `hosts` are served beside the loopback names, pages of `origins` beside its own, and the
    `agent`, if there is one."""
    gateway = gateway or Gateway(store)
    limits = limits or ConnectionLimits()
    rate = limits.requests(tokens=gateway.authority.asks)
    operations = Actions().operations()
    busy = [operation.route() for operation in operations]
    feed = ServerSentEvents(gateway, heartbeat_seconds).operation()
    app = App(
        title="Holdfast",
        summary="Agent sessions that survive.",
        version=gateway.version,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_name_of,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        routes=[
            *busy,
            WebSocketRoute("/ws", Live(gateway).follow),
            feed.route(),
            Route("/docs", Docs().show),
            Route(dashboard.ASSETS, dashboard.built_in().asset),
            McpMount().route(),
            *(agent.routes if agent else ()),
        ],
        middleware=[
            Middleware(Traffic, counts=gateway.counts, logs=logs or Logs()),
            Middleware(LastAnswers, draining=lambda: gateway.draining),
            Middleware(SecurityHeaders),
            Middleware(Problems),
            Middleware(HangUps),
            Middleware(HostCheck, hosts=hosts, origins=[parse_origin(origin) for origin in origins]),
            Middleware(Auth, authority=gateway.authority, store_of=gateway.store_of),
            *([Middleware(RateLimit, rates=Rates(rate))] if rate else ()),
            Middleware(Audits),
            Middleware(
                BodyLimit,
                limits=limits,
                on_disk={"/api/import": limits.max_archive, "/a2a/uploads": limits.max_upload},
                other=dict.fromkeys(AGENT, limits.max_message) | {MCP: LARGEST_CALL, "/api/proofs": LARGEST_PROOF},
            ),
            Middleware(BusyRoutes, routes=busy),
        ],
        exception_handlers={
            HoldfastError: _foreseen,
            RequestValidationError: _invalid,
            HTTPException: _unserved,
        },
    )
    service.add_routes(app.router, gateway)
    for part in (sessions, changes, forks, checkpoints, children, keys):
        app.router.routes.extend(_routes(part.add_routes))
    for cached in (states, queries):
        cached.add_routes(app.router, gateway.cache)
    add_dashboard_routes(app.router, gateway, chats=agent is not None)
    add_operators_routes(app.router, gateway)
    app.router.routes.extend(_routes(sessions.add_user_route))
    if agent is not None:
        chat.add_routes(app.router, gateway, agent.turns_of)
        interruption.add_routes(app.router, agent.turns_of)
        tasks.add_answer_route(app.router, agent.turns_of)
    openapi.complete(app, [*operations, feed])
    return app


class App(FastAPI):
    """FastAPI without its outermost layer, which would answer what is raised: that is what `Problems` does."""

    def build_middleware_stack(self) -> ASGIApp:
        """Our layers, then the router's."""
        outermost = super().build_middleware_stack()
        assert isinstance(outermost, ServerErrorMiddleware)
        return outermost.app


def add_dashboard_routes(routes: APIRouter, gateway: Gateway, *, chats: bool) -> None:
    """Serve people who look at sessions; `chats` says whether an agent answers here."""
    caller.add_routes(routes, gateway, chats=chats)
    verification.add_routes(routes, verification.Verdicts())
    for streamed in (attachments, markdown):
        streamed.add_routes(routes, gateway)
    for part in (events, family, tasks, state_versions, memories):
        routes.routes.extend(_routes(part.add_routes))


def add_operators_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve whoever runs the gateway."""
    transfer.add_routes(routes, gateway)
    upkeep.add_routes(routes, gateway)
    service.add_log_route(routes, gateway)
    metrics.add_routes(routes, gateway)
    overview.add_routes(routes, gateway)
    proofs.add_routes(routes, gateway)
    for part in (archives, access):
        routes.routes.extend(_routes(part.add_routes))


@cache
def _routes(add: Callable[[APIRouter], None]) -> list[BaseRoute]:
    """The routes of a part that needs nothing of a gateway: looking at them takes long, and all gateways share them."""
    router = APIRouter(generate_unique_id_function=_name_of)
    add(router)
    return router.routes


def _name_of(route: APIRoute) -> str:
    return route.name


async def _foreseen(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HoldfastError)
    return problem_answer(error)


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors()]
    return problem_answer(InvalidInput("; ".join(found)))


async def _unserved(request: Request, error: Exception) -> Response:
    """What the router itself refuses: an unknown path, or a method that the path does not have."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = sorted(_methods(request))
        refusal = WrongMethod(f"{request.method} is not served here", allowed=allowed)
        return problem_answer(refusal, {"Allow": ", ".join(allowed)})
    if error.status_code == 404:
        return problem_answer(NoRoute(f"there is nothing at {request.url.path!r:.200}"))
    kind = InvalidInput if error.status_code < 500 else Unexpected
    return problem_answer(kind(str(error.detail)))


def _methods(request: Request) -> set[str]:
    """Every method of every route on the request's path: the router names only the first route's."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return found
