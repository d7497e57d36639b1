"""`POST /a2a/uploads`: files into the workspace, for messages that refer to them.

A request's files are written to a folder aside, as they come, and appear together when all of them are whole and on
the disk: a request that is refused, cut off or killed leaves nothing in `uploads`.
"""

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.a2a.files.files import MAX_MESSAGE, MB, Files
from holdfast.a2a.files.upload_intake import Intake, UploadedFile
from holdfast.core import HoldfastError, TimeOrderedIds
from holdfast.core.errors import TooLarge
from holdfast.http.answers import JsonLine, problem_answer

PATH = "/a2a/uploads"
MAX_REQUEST = MAX_MESSAGE + MB
"""Bytes of a body: its files, and what is written around them."""
PIECE = 256 * 1024

Given = ParamSpec("Given")
Result = TypeVar("Result")


def uploads_route(files_of: Callable[[Request], Files]) -> Route:
    """Where files are uploaded to the workspace that a request's sender has."""
    ids = TimeOrderedIds()

    async def upload(request: Request) -> Response:
        try:
            intake = Intake(files_of(request).workspace, ids(), request.headers.get("content-type", ""))
            landed = await _land(request, intake)
        except HoldfastError as error:
            return problem_answer(error)
        except ClientDisconnect:
            return Response(status_code=400)
        return JsonLine({"files": [_described(file) for file in landed]})

    return Route(PATH, upload, methods=["POST"])


async def _land(request: Request, intake: Intake) -> list[UploadedFile]:
    """Take in the whole body; if that does not succeed, nothing of it stays."""
    taken, waiting = 0, bytearray()
    try:
        async for chunk in request.stream():
            taken += len(chunk)
            if taken > MAX_REQUEST:
                raise TooLarge(f"an upload of more than {MAX_MESSAGE // MB} MiB", limit=MAX_MESSAGE)
            waiting += chunk
            if len(waiting) >= PIECE:
                await _in_thread(intake.write, bytes(waiting))
                waiting.clear()
        await _in_thread(intake.write, bytes(waiting))
        return await _in_thread(intake.finish)
    except BaseException:
        await _in_thread(intake.discard)
        raise


async def _in_thread(run: Callable[Given, Result], *args: Given.args, **named: Given.kwargs) -> Result:
    """The result of something that blocks; if we are cancelled, it is over before we go on."""
    running = asyncio.ensure_future(asyncio.to_thread(run, *args, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


def _described(file: UploadedFile) -> dict[str, Any]:
    return {"uri": file.uri, "name": file.name, "mimeType": file.media_type, "size": file.size}
