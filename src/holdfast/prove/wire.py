"""A raw A2A client: JSON over HTTP, no SDK, because a typed client would hide what a runtime does wrong.

Every request has a connection of its own, so no answer can come from a process that has been killed since.
"""

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

from holdfast.core import HoldfastError
from holdfast.core.loopback import is_here
from holdfast.prove.envelopes import WireVersion
from holdfast.prove.redact import hide_passwords

CARD_PATHS = ("/.well-known/agent-card.json", "/agent-card")
UNAVAILABLE = frozenset({502, 503, 504})


class TransportFault(HoldfastError):
    """No answer came: refused, cut, timed out, or a proxy that found nobody behind it."""

    code: ClassVar[str] = "transport_fault"
    status: ClassVar[int] = 502


class NoAnswerInTime(TransportFault):
    """The request was taken and nothing came back within the time."""

    code: ClassVar[str] = "no_answer_in_time"
    status: ClassVar[int] = 504


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status and body, as they came."""

    status: int
    body: bytes


class Wire:
    """Sends requests to one target; an async context manager."""

    def __init__(self, base_url: str, version: WireVersion) -> None:
        self.base_url = base_url.rstrip("/").removesuffix("/a2a")
        self.endpoint = self.base_url + "/a2a"
        self.version = version
        self._http = httpx2.AsyncClient(
            trust_env=not is_here(base_url),
            follow_redirects=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=None,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def get(self, path: str, within: float) -> HttpAnswer:
        """What the target answers to a GET."""
        return await self._exchange("GET", self.base_url + path, None, {}, within)

    async def post(self, body: bytes, within: float) -> HttpAnswer:
        """What the target's A2A endpoint answers to an envelope."""
        return await self._exchange("POST", self.endpoint, body, self.version.headers, within)

    def curl(self, body: bytes) -> str:
        """A command line that posts the same envelope."""
        headers = " ".join(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in self.version.headers.items())
        return (
            f"curl -sS {headers} --data-raw {shlex.quote(body.decode())} {shlex.quote(hide_passwords(self.endpoint))}"
        )

    def follow_card(self, card: Mapping[str, Any]) -> None:
        """Send to the path that the card names. The origin stays the one we were given: a card may name an
        address that is right only inside the target's own network."""
        named = _named_url(card, self.version)
        if named is None:
            return
        try:
            path = urlsplit(named).path or "/"
        except ValueError:
            return
        ours = urlsplit(self.base_url)
        if ours.path and not path.startswith(ours.path + "/"):
            path = ours.path + path
        self.endpoint = urlunsplit((ours.scheme, ours.netloc, path, "", ""))

    async def _exchange(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], within: float
    ) -> HttpAnswer:
        try:
            async with asyncio.timeout(within):
                response = await self._http.request(method, url, content=body, headers=headers)
        except TimeoutError:
            raise NoAnswerInTime(f"no answer from {hide_passwords(url)} within {within:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            detail = str(error) or type(error).__name__
            raise TransportFault(f"no answer from {hide_passwords(url)}: {detail}") from error
        if response.status_code in UNAVAILABLE:
            raise TransportFault(f"{hide_passwords(url)} answered {response.status_code}: unavailable")
        return HttpAnswer(response.status_code, response.content)


def _named_url(card: Mapping[str, Any], version: WireVersion) -> str | None:
    """The JSON-RPC address in a card of either version, best match first."""
    interfaces = card.get("supportedInterfaces")
    rpc = [
        interface
        for interface in (interfaces if isinstance(interfaces, list) else [])
        if isinstance(interface, dict)
        and interface.get("protocolBinding") == "JSONRPC"
        and isinstance(interface.get("url"), str)
    ]
    rpc.sort(key=lambda interface: interface.get("protocolVersion") != version.value)
    if rpc:
        url: str = rpc[0]["url"]
        return url
    top = card.get("url")
    return top if isinstance(top, str) and card.get("preferredTransport", "JSONRPC") == "JSONRPC" else None
