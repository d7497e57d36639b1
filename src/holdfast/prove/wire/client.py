"""A raw A2A client: JSON over HTTP, no SDK, because a typed client would hide what a runtime does wrong.

Every request has a connection of its own, so no answer can come from a process that has been killed since. The reader
of server-sent events is the proof's own too, and shares nothing with `holdfast.http` on purpose: what both got wrong
alike, no proof would see.
"""

import asyncio
import shlex
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

from holdfast.core import HoldfastError
from holdfast.core.loopback import is_here
from holdfast.core.redact import redact
from holdfast.prove.wire import card as agent_card
from holdfast.prove.wire import envelopes
from holdfast.prove.wire.card import Card
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials
from holdfast.prove.wire.envelopes import FileSent, WireVersion

CARD_PATHS = ("/.well-known/agent-card.json", "/agent-card")
UPLOADS_PATH = "/a2a/uploads"
UNAVAILABLE = frozenset({502, 503, 504})
REFUSED = frozenset({401, 403})


class TransportFault(HoldfastError):
    """No answer came: refused, cut, timed out, or a proxy that found nobody behind it."""

    code: ClassVar[str] = "transport_fault"
    status: ClassVar[int] = 502


class NoAnswerInTime(TransportFault):
    """The request was taken and nothing came back within the time."""

    code: ClassVar[str] = "no_answer_in_time"
    status: ClassVar[int] = 504


class AccessRefused(TransportFault):
    """The target, or what stands before it, does not let us in."""

    code: ClassVar[str] = "access_refused"
    status: ClassVar[int] = 502


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status and body, as they came but for our own credentials."""

    status: int
    body: bytes


class Wire:
    """Sends requests to one target, in one version unless another is named; an async context manager.

    Without a version it is 0.3 until an agent card is followed, and then the highest that the card offers.
    """

    def __init__(
        self, base_url: str, version: WireVersion | None = None, credentials: Credentials = NO_CREDENTIALS
    ) -> None:
        self.base_url = base_url.rstrip("/").removesuffix("/a2a")
        self.version = version or WireVersion.V0_3
        self._follows_card = version is None
        self._credentials = credentials
        self._endpoints = dict.fromkeys(WireVersion, self.base_url + "/a2a")
        self._http = httpx2.AsyncClient(
            # Certificates take a fifth of a second to load.
            verify=not base_url.lower().startswith("http:"),
            trust_env=not is_here(base_url),
            follow_redirects=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=None,
            headers=credentials.sent,
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
                status = self._let_in(url, response)
                if not response.headers.get("content-type", "").startswith("text/event-stream"):
                    yield self._answer(status, await response.aread())
                    return
                async with aclosing(_events(response)) as events:
                    async for data in events:
                        yield self._answer(status, data)

    async def upload(self, file: FileSent, boundary: str, within: float) -> HttpAnswer:
        """What the target's uploads answer to a file."""
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Accept": "application/json"}
        body = envelopes.upload(boundary, file)
        return await self._exchange("POST", self.base_url + UPLOADS_PATH, body, headers, within)

    def curl(self, body: bytes, version: WireVersion | None = None, *, stream: bool = False) -> str:
        """A command line that posts the same envelope."""
        spoken = version or self.version
        sent = spoken.stream_headers if stream else spoken.headers
        headers = "".join(f"-H {shlex.quote(f'{name}: {value}')} " for name, value in sent.items())
        url = shlex.quote(redact(self.endpoint_of(spoken)))
        flags = f"-sS{'N' if stream else ''}"
        return f"curl {flags} {headers}{self._shown_headers()}--data-raw {shlex.quote(body.decode())} {url}"

    def curl_to(self, path: str, *words: str) -> str:
        """A command line that asks for a page of the target; more words of it come first."""
        first = "".join(f"{shlex.quote(word)} " for word in words)
        return f"curl {first}{self._shown_headers()}{shlex.quote(redact(self.base_url + path))}"

    def follow_card(self, card: Card) -> None:
        """Send to the paths that the card names, in the version that it offers unless one was asked for.

        The origin stays the one we were given: a card may name an address that is right only inside the target's own
        network.
        """
        if self._follows_card:
            self.version = agent_card.highest(card)
        ours = urlsplit(self.base_url)
        for version in WireVersion:
            named = agent_card.address(card, version)
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
            return self._answer(self._let_in(url, response), response.content)

    def _answer(self, status: int, body: bytes) -> HttpAnswer:
        return HttpAnswer(status, self._credentials.mask_body(body))

    def _let_in(self, url: str, response: httpx2.Response) -> int:
        """The status, unless it says that nobody is there, or that we may not ask."""
        if response.status_code in UNAVAILABLE:
            raise TransportFault(f"{redact(url)} answered {response.status_code}: unavailable")
        if response.status_code not in REFUSED:
            return response.status_code
        challenge = redact(self._credentials.mask(response.headers.get("www-authenticate", "")))
        asks = f" and asks for {challenge[:200]}" if challenge else ""
        if names := ", ".join(name for name, _ in self._credentials.headers):
            hint = f"it does not take what was given in {names}: see --token and --header"
        else:
            hint = "no credentials were given: --token TOKEN (or HOLDFAST_PROVE_TOKEN), or --header 'Name: value'"
        raise AccessRefused(f"{redact(url)} answered {response.status_code}{asks}: it wants credentials", hint=hint)

    def _shown_headers(self) -> str:
        return "".join(f"-H {shlex.quote(header)} " for header in self._credentials.shown)


@contextmanager
def _faults(url: str) -> Iterator[None]:
    """What goes wrong on the way becomes a TransportFault."""
    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        detail = str(error) or type(error).__name__
        raise TransportFault(f"no answer from {redact(url)}: {detail}") from error


async def _events(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The data of each server-sent event; what is no data (a comment, a name) is for others."""
    data: list[str] = []
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield "\n".join(data).encode()
            data = []
