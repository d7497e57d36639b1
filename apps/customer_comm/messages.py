"""Messages of customers: as files in the inbox, or posted, and then on the disk before the sender is told so."""

import hmac
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from apps.answers import AnswerFolder
from apps.crash_points import CrashPoints
from apps.inbox import Inbox, OtherContent
from apps.settings import ProgramSettings
from holdfast.core import TimeOrderedIds, strict_json
from holdfast.core.errors import HoldfastError

MOST_BYTES = 256 * 1024


class NoMessage(Exception):
    """The bytes are no message of a customer; the exception says why."""


@dataclass(frozen=True, slots=True)
class CustomerMessage:
    """What a customer wrote."""

    sender: str
    text: str


def parse(raw: bytes) -> CustomerMessage:
    """The message that some bytes are; NoMessage if they are none."""
    try:
        value = strict_json.parse(raw)
    except HoldfastError as error:
        raise NoMessage(f"it is no JSON: {error.message}") from None
    if not isinstance(value, dict):
        raise NoMessage("it is no JSON object")
    text, sender = value.get("text"), value.get("from", "customer")
    if not isinstance(text, str) or not text.strip() or not isinstance(sender, str):
        raise NoMessage('it has no "text", or a "from" that is no text')
    return CustomerMessage(sender, text)


def routes(settings: ProgramSettings, inbox: Inbox, answers: AnswerFolder, crash: CrashPoints) -> list[Route]:
    """`POST /messages` and `GET /messages/{id}`."""
    ids = TimeOrderedIds()

    async def post(request: Request) -> JSONResponse:
        refusal = _refusal(settings, request)
        if refusal is not None:
            return refusal
        try:
            raw = await _body(request)
            parse(raw)
            value = strict_json.parse(raw)
            name = value.pop("id", None) or f"m-{ids()}"
            if not isinstance(name, str):
                raise NoMessage("its id is no text")
            new = inbox.put(name, strict_json.dump(value))
        except NoMessage as error:
            return _problem(400, str(error))
        except OtherContent as error:
            return _problem(409, str(error))
        crash.reached("post:kept")
        return JSONResponse({"id": name, "new": new}, 202 if new else 200)

    async def get(request: Request) -> JSONResponse:
        refusal = _refusal(settings, request)
        if refusal is not None:
            return refusal
        name = request.path_params["name"]
        try:
            place = inbox.place_of(name)
        except OtherContent:
            place = None
        if place is None:
            return _problem(404, f"there is no message {name!r:.80}")
        return JSONResponse({"id": name, "place": place, "answer": answers.get(name)})

    return [Route("/messages", post, methods=["POST"]), Route("/messages/{name}", get)]


def _refusal(settings: ProgramSettings, request: Request) -> JSONResponse | None:
    """Why a request is not answered, if it is not."""
    if not settings.takes_posts:
        return _problem(403, "messages are taken on loopback only, unless APP_TOKEN is set")
    told = request.headers.get("authorization", "")
    if settings.token is not None and not hmac.compare_digest(told.encode(), f"Bearer {settings.token}".encode()):
        return _problem(401, "send Authorization: Bearer, and the APP_TOKEN of the program")
    return None


async def _body(request: Request) -> bytes:
    raw = b""
    async for piece in request.stream():
        raw += piece
        if len(raw) > MOST_BYTES:
            raise NoMessage(f"it has more than {MOST_BYTES} bytes")
    return raw


def _problem(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)
