"""The gateway's log over the API: its lines, by cursor."""

import asyncio
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import PageCursor
from holdfast.gateway.errors import NoLog
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.wire.upkeep import LogLines

MOST_LINES = 1_000
LONGEST_SHOWN = 500

_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/api/logs`."""

    @routes.get("/api/logs", summary="Lines of the gateway's log, oldest first", **described({200: LogLines}))
    async def get_logs(cursor: PageCursor = None, limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = 100) -> Response:
        if gateway.log is None:
            raise NoLog("this gateway writes no log file")
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
