"""The gateway as an ASGI application over an open store.

The busy routes are plain ones and stand in front of FastAPI's; all share the layers, the error shape and one OpenAPI
document.
"""

from collections.abc import Iterable, Sequence

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, WebSocketRoute

from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.gateway import (
    archives,
    changes,
    checkpoints,
    children,
    forks,
    keys,
    openapi,
    queries,
    service,
    sessions,
    states,
    transfer,
    upkeep,
)
from holdfast.gateway.actions import Actions
from holdfast.gateway.answers import problem_answer
from holdfast.gateway.errors import NoRoute, Unexpected, WrongMethod
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.layers import MAX_ARCHIVE, MAX_BODY, BodyLimit, BusyRoutes, HostCheck, Problems
from holdfast.gateway.live import Live
from holdfast.store import Store


def create_app(
    store: Store,
    *,
    gateway: Gateway | None = None,
    hosts: Iterable[str] = (),
    more_routes: Sequence[BaseRoute] = (),
    max_body: int = MAX_BODY,
    max_archive: int = MAX_ARCHIVE,
) -> FastAPI:
    """The application; `hosts` are served beside the loopback names, `more_routes` before all but the busy ones."""
    gateway = gateway or Gateway(store)
    operations = Actions(store).operations()
    busy = [operation.route() for operation in operations]
    app = FastAPI(
        title="Holdfast",
        summary="Agent sessions that survive.",
        version=gateway.version,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        routes=[
            *busy,
            WebSocketRoute("/ws", Live(gateway).follow),
            *more_routes,
        ],
        middleware=[
            Middleware(Problems),
            Middleware(HostCheck, hosts=hosts),
            Middleware(BodyLimit, limit=max_body, others={"/api/import": max_archive}),
            Middleware(BusyRoutes, routes=busy),
        ],
        exception_handlers={
            HoldfastError: _foreseen,
            RequestValidationError: _invalid,
            HTTPException: _unserved,
        },
    )
    service.add_routes(app.router, gateway)
    for part in (sessions, changes, forks, checkpoints, states, children, queries, keys):
        part.add_routes(app.router, store)
    add_operators_routes(app.router, gateway)
    sessions.add_user_route(app.router, store)
    openapi.complete(app, operations)
    return app


def add_operators_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve whoever runs the gateway: who may use these routes is to be decided here, for all of them."""
    transfer.add_routes(routes, gateway)
    upkeep.add_routes(routes, gateway)
    archives.add_routes(routes, gateway)


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
