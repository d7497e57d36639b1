"""The gateway about itself: what it is, whether it lives, whether it is ready."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.wire.sessions import Health, Ready, ServiceView


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve what is beside `/api`."""
    schema = gateway.store.schema_version

    @routes.get("/health", summary="Whether the process lives", **described({200: Health}))
    async def health() -> Response:
        return json_answer(
            Health("ok", gateway.version, round(gateway.uptime, 3), gateway.connections(), gateway.storage())
        )

    @routes.get("/readyz", summary="Whether reads and writes are served", **described({200: Ready}))
    async def readyz() -> Response:
        figures = {name: value for name, value in (await gateway.readiness.look()).items() if name != "path"}
        if gateway.authority.asks:
            figures = {}
        return json_answer(Ready("ready", gateway.storage(), schema, round(gateway.store.feed_lag, 3), figures))

    @routes.get("/", summary="What runs here", **described({200: ServiceView}))
    async def service(request: Request) -> Response:
        paths = {route.path.replace(":path}", "}") for route in request.app.routes}
        return json_answer(ServiceView("holdfast", gateway.version, sorted(paths)))

    for path, asked in (("/health", health), ("/readyz", readyz), ("/", service)):
        routes.add_api_route(path, asked, methods=["HEAD"], include_in_schema=False)
