"""The gateway about itself: what it is, whether it lives, whether it is ready."""

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from holdfast.core.errors import Closing, StoreUnavailable
from holdfast.gateway.answers import json_answer
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.openapi import described
from holdfast.gateway.wire import Health, Ready, Service
from holdfast.store.migrations import newest

ANSWER_SECONDS = 5.0
ENDPOINTS = [
    *("/health", "/readyz", "/openapi.json", "/ws"),
    *("/api/sessions", "/api/actions", "/api/state", "/api/query", "/api/keys"),
    *("/api/status", "/api/export", "/api/import", "/api/verify", "/api/retention", "/api/backup", "/api/archives"),
]
MIGRATIONS = {"sqlite": "sqlite", "postgresql": "postgres"}


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve what is beside `/api`."""
    store = gateway.store
    schema = schema_version(store.engine.name)

    @routes.get("/health", summary="Whether the process lives", **described({200: Health}))
    async def health() -> Response:
        return json_answer(
            Health("ok", gateway.version, round(gateway.uptime, 3), gateway.connections(), gateway.storage())
        )

    @routes.get("/readyz", summary="Whether reads and writes are served", **described({200: Ready}))
    async def readyz() -> Response:
        if gateway.stopping.is_set():
            raise Closing("the gateway is stopping")
        if store.failure is not None:
            raise store.failure
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await store.sessions.list(limit=1)
                figures = await asyncio.to_thread(store.engine.figures)
        except TimeoutError:
            raise StoreUnavailable(f"the store did not answer within {ANSWER_SECONDS:.0f} s") from None
        return json_answer(Ready("ready", gateway.storage(), schema, figures))

    @routes.get("/", summary="What runs here", **described({200: Service}))
    async def service() -> Response:
        return json_answer(Service("holdfast", gateway.version, ENDPOINTS))


def schema_version(engine: str) -> int:
    """The version of the schema that this Holdfast writes."""
    return newest(MIGRATIONS[engine])
