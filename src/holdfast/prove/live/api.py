"""The gateway's public API, asked from outside. What was asked and answered goes into the evidence, without its words.

Each request has a connection of its own, so no answer can come from a process that has ended since.
"""

import asyncio
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self
from urllib.parse import quote

import httpx2

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.core.loopback import is_here
from holdfast.core.redact import redact
from holdfast.prove.evidence import Evidence
from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.wire.client import AccessRefused, NoAnswerInTime, TransportFault
from holdfast.prove.wire.credentials import Credentials

REFUSED = frozenset({401, 403})
TENANT = "Holdfast-Tenant"


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The status and the document of an answer; an empty document where it was none, and its bytes."""

    status: int
    document: dict[str, Any]
    raw: bytes


class GatewayApi:
    """Asks one gateway; an async context manager. `step` is what the evidence says that it was asked for."""

    def __init__(
        self, url: str, evidence: Evidence, *, credentials: Credentials, tenant: str | None, within: float
    ) -> None:
        self.url = url.rstrip("/")
        self.step = ""
        self._evidence = evidence
        self._within = within
        self._http = httpx2.AsyncClient(
            verify=not url.lower().startswith("http:"),
            trust_env=not is_here(url),
            follow_redirects=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=None,
            headers=credentials.sent | ({TENANT: tenant} if tenant else {}),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(self, what: str, method: str, path: str, body: Any = None, **query: Any) -> ApiAnswer:
        """What the gateway answers, whatever it is; TransportFault if nothing comes."""
        url = self.url + path
        self._evidence.event(self.step, what, "request", method=method, url=redact(url))
        began = time.monotonic()
        content = None if body is None else strict_json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            async with asyncio.timeout(self._within):
                answer = await self._http.request(method, url, params=query, content=content, headers=headers)
        except TimeoutError:
            raise NoAnswerInTime(f"no answer from {redact(url)} within {self._within:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise TransportFault(f"no answer from {redact(url)}: {error or type(error).__name__}") from error
        raw = answer.content
        self._evidence.event(
            self.step,
            what,
            "answer",
            status=answer.status_code,
            seconds=round(time.monotonic() - began, 4),
            bytes=len(raw),
            sha256=sha256(raw).hexdigest(),
        )
        if answer.status_code in REFUSED:
            raise AccessRefused(
                f"{redact(url)} answered {answer.status_code}: it wants a token",
                hint="HOLDFAST_TOKEN is a token with the scope operator: `holdfast token create NAME --scope operator`",
            )
        return ApiAnswer(answer.status_code, _document(raw), raw)

    async def must(self, what: str, method: str, path: str, body: Any = None, **query: Any) -> dict[str, Any]:
        """The document of an answer that must be a good one; ClaimBroken if it is a refusal."""
        answer = await self.ask(what, method, path, body, **query)
        if answer.status >= 400:
            code = answer.document.get("code", "")
            raise ClaimBroken(
                "the API answers", f"{what}: HTTP {answer.status} {code}", expected="HTTP 200", got=str(answer.status)
            )
        return answer.document


def at(path: str, name: str) -> str:
    """A path with a session's id or key in its braces."""
    return path.format(quote(name, safe=":"))


def _document(raw: bytes) -> dict[str, Any]:
    try:
        found = strict_json.parse(raw)
    except InvalidJson:
        return {}
    return found if isinstance(found, dict) else {}
