"""The gateway about itself: what it is, whether it lives, whether it is ready, and the lines of its log by cursor."""

import asyncio
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.dashboard import built_in
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import PageCursor
from holdfast.gateway.errors import NoLog
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.wire.sessions import Health, Ready, ServiceView
from holdfast.gateway.wire.upkeep import LogLines

MOST_LINES = 1_000
LONGEST_SHOWN = 500
SETTLE_SECONDS = 1.0
"""For which a reader waits until what was logged before is in the file; a disk that hangs is not waited for longer."""

_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


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

    @routes.get("/", summary="What runs here; for browsers, the dashboard", **described({200: ServiceView}))
    async def service(request: Request) -> Response:
        page = await built_in().page(request)
        if page is not None:
            return page
        paths = {route.path.replace(":path}", "}") for route in request.app.routes}
        return json_answer(ServiceView("holdfast", gateway.version, sorted(paths)), headers={"Vary": "Accept"})

    for path, asked in (("/health", health), ("/readyz", readyz), ("/", service)):
        routes.add_api_route(path, asked, methods=["HEAD"], include_in_schema=False)


def add_log_route(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/api/logs`."""

    @routes.get("/api/logs", summary="Lines of the gateway's log, oldest first", **described({200: LogLines}))
    async def get_logs(cursor: PageCursor = None, limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = 100) -> Response:
        if gateway.log is None:
            raise NoLog("this gateway writes no log file")
        await asyncio.to_thread(gateway.log.settle, SETTLE_SECONDS)
        files = gateway.log.files
        page = await asyncio.to_thread(files.read, cursor or None, limit)
        size = await asyncio.to_thread(files.size)
        lines = [line_of(each) for each in page.lines]
        return json_answer(LogLines(lines, page.place.cursor, str(files.path), size, page.truncated))


def line_of(raw: bytes) -> msgspec.Raw:
    """A line as an object; one that is none, because the machine went down while it was written, is shown as text."""
    try:
        _decode(raw)
    except (msgspec.DecodeError, UnicodeError):
        return msgspec.Raw(_encode({"message": raw[:LONGEST_SHOWN].decode(errors="replace"), "unreadable": True}))
    return msgspec.Raw(raw)
