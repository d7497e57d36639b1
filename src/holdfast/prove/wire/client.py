"""A raw A2A client: JSON over HTTP, no SDK, because a typed client would hide what a runtime does wrong.

Every request has a connection of its own, so no answer can come from a process that has been killed since.
"""

import asyncio
import shlex
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

from holdfast.core import HoldfastError
from holdfast.core.loopback import is_here
from holdfast.core.redact import redact
from holdfast.prove.wire import envelopes
from holdfast.prove.wire.envelopes import FileSent, WireVersion

CARD_PATHS = ("/.well-known/agent-card.json", "/agent-card")
UPLOADS_PATH = "/a2a/uploads"
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
    """Sends requests to one target, in one version unless another is named; an async context manager."""

    def __init__(self, base_url: str, version: WireVersion) -> None:
        self.base_url = base_url.rstrip("/").removesuffix("/a2a")
        self.version = version
        self._endpoints = dict.fromkeys(WireVersion, self.base_url + "/a2a")
        self._http = httpx2.AsyncClient(
            # Certificates take a fifth of a second to load.
            verify=not base_url.lower().startswith("http:"),
            trust_env=not is_here(base_url),
            follow_redirects=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=None,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    @property
    def endpoint(self) -> str:
        """Where envelopes are posted to."""
        return self.endpoint_of(self.version)

    def endpoint_of(self, version: WireVersion) -> str:
        """Where envelopes of a version are posted to."""
        return self._endpoints[version]

    async def get(self, path: str, within: float) -> HttpAnswer:
        """What the target answers to a GET."""
        return await self._exchange("GET", self.base_url + path, None, {}, within)

    async def post(self, body: bytes, within: float, version: WireVersion | None = None) -> HttpAnswer:
        """What the target's A2A endpoint answers to an envelope."""
        spoken = version or self.version
        return await self._exchange("POST", self.endpoint_of(spoken), body, spoken.headers, within)

    async def stream(self, body: bytes, version: WireVersion | None = None) -> AsyncGenerator[HttpAnswer]:
        """The events of the stream that an envelope is answered with, until it ends; without a stream, the answer."""
        spoken = version or self.version
        url = self.endpoint_of(spoken)
        with _faults(url):
            async with self._http.stream("POST", url, content=body, headers=spoken.stream_headers) as response:
                status = _available(url, response.status_code)
                if not response.headers.get("content-type", "").startswith("text/event-stream"):
                    yield HttpAnswer(status, await response.aread())
                    return
                async with aclosing(_events(response)) as events:
                    async for data in events:
                        yield HttpAnswer(status, data)

    async def upload(self, file: FileSent, boundary: str, within: float) -> HttpAnswer:
        """What the target's uploads answer to a file."""
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Accept": "application/json"}
        body = envelopes.upload(boundary, file)
        return await self._exchange("POST", self.base_url + UPLOADS_PATH, body, headers, within)

    def curl(self, body: bytes, version: WireVersion | None = None, *, stream: bool = False) -> str:
        """A command line that posts the same envelope."""
        spoken = version or self.version
        sent = spoken.stream_headers if stream else spoken.headers
        headers = " ".join(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in sent.items())
        url = shlex.quote(redact(self.endpoint_of(spoken)))
        return f"curl -sS{'N' if stream else ''} {headers} --data-raw {shlex.quote(body.decode())} {url}"

    def follow_card(self, card: Mapping[str, Any]) -> None:
        """Send to the paths that the card names. The origin stays the one we were given: a card may name an
        address that is right only inside the target's own network."""
        ours = urlsplit(self.base_url)
        for version in WireVersion:
            named = _named_url(card, version)
            try:
                path = urlsplit(named).path or "/" if named is not None else None
            except ValueError:
                path = None
            if path is None:
                continue
            if ours.path and not path.startswith(ours.path + "/"):
                path = ours.path + path
            self._endpoints[version] = urlunsplit((ours.scheme, ours.netloc, path, "", ""))

    async def _exchange(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], within: float
    ) -> HttpAnswer:
        with _faults(url):
            try:
                async with asyncio.timeout(within):
                    response = await self._http.request(method, url, content=body, headers=headers)
            except TimeoutError:
                raise NoAnswerInTime(f"no answer from {redact(url)} within {within:g} s") from None
            return HttpAnswer(_available(url, response.status_code), response.content)


@contextmanager
def _faults(url: str) -> Iterator[None]:
    """What goes wrong on the way becomes a TransportFault."""
    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        detail = str(error) or type(error).__name__
        raise TransportFault(f"no answer from {redact(url)}: {detail}") from error


def _available(url: str, status: int) -> int:
    """The status, unless it says that nobody is there."""
    if status in UNAVAILABLE:
        raise TransportFault(f"{redact(url)} answered {status}: unavailable")
    return status


async def _events(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The data of each server-sent event; what is no data (a comment, a name) is for others."""
    data: list[str] = []
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield "\n".join(data).encode()
            data = []


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
