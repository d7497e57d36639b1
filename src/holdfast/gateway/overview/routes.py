"""The route of the overview."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.gateway.access.auth import caller_of
from holdfast.gateway.api.answers import answered
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.overview.overview import Overviews
from holdfast.gateway.overview.prices import PriceFile
from holdfast.gateway.wire.overview import Overview
from holdfast.store.operators import OPERATOR

DEFAULT_DAYS = 30
MOST_DAYS = 366


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/api/overview`."""
    overviews = Overviews(gateway, PriceFile(gateway.prices))

    @routes.get(
        "/api/overview",
        summary="The service at a glance: use, cost, times, sizes, and what is wrong",
        **described({200: Overview}),
    )
    async def get_overview(
        store: TenantStore,
        request: Request,
        days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="how many days to go back")] = DEFAULT_DAYS,
    ) -> Response:
        return answered(await overviews.answer(store, days, whole=caller_of(request).may(OPERATOR)))
