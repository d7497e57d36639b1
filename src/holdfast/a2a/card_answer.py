"""The agent card as an answer: kept by clients for a while, and after that only asked whether it is still the same."""

import hashlib
from email.utils import formatdate, parsedate_to_datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from holdfast.http.answers import JsonLine

MAX_AGE_SECONDS = 300


def card_answer(request: Request, card: dict[str, Any], changed_at: float) -> Response:
    """The card, or 304 if the client has it; `changed_at` is the epoch second from which on it has been so."""
    answer = JsonLine(card)
    answer.headers["ETag"] = tag = f'"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
    answer.headers["Cache-Control"] = f"public, max-age={MAX_AGE_SECONDS}"
    answer.headers["Last-Modified"] = formatdate(changed_at, usegmt=True)
    if not _has_it(request, tag, changed_at):
        return answer
    kept = {name: answer.headers[name] for name in ("ETag", "Cache-Control", "Last-Modified")}
    return Response(status_code=304, headers=kept)


def _has_it(request: Request, tag: str, changed_at: float) -> bool:
    """Whether the client has what has this tag; the date counts only where no tags are named."""
    tags = request.headers.getlist("if-none-match")
    if tags:
        named = {each.strip().removeprefix("W/") for each in ",".join(tags).split(",")}
        return not named.isdisjoint({tag, "*"})
    try:
        since = parsedate_to_datetime(request.headers.get("if-modified-since", ""))
        return since.timestamp() >= int(changed_at)
    except (ValueError, OverflowError):
        return False
