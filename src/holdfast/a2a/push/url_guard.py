"""Which web addresses that clients give us may be posted to: public ones, and those that the operator has named.

A gateway can reach what its clients cannot: itself, its neighbours, the machine's metadata. So a name is resolved,
every address that it has must be public, and the request is sent to the very address that was looked at: a name that
changes its mind in between changes nothing. What a URL looks like does not count, only where it leads.
"""

import asyncio
import ipaddress
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import SplitResult, urlsplit

from holdfast.a2a.push.lookup_slots import Slots
from holdfast.core.errors import InvalidInput

MAX_URL = 2_048
RESOLVE_SECONDS = 5.0
AT_ONCE = 32
"""Names that are looked up at one moment: each takes a thread for as long as its servers like. One name of a tenant
takes one."""
MOST_OF_A_TENANT = 8

PORTS = {"http": 80, "https": 443}
UNSAFE = re.compile(r"[^!-\[\]-~]")
"""Blanks, control characters, backslashes, and what is not ASCII: these are where readers of URLs disagree."""
HOST = re.compile(r"[A-Za-z0-9._-]{1,253}\Z")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
UNICAST = ipaddress.IPv6Network("2000::/3")
RESERVED = [
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]
"""Addresses for special uses, and those that hide another address in them."""
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254")
)
"""Where clouds answer what a machine is and may: some of these addresses are public by their number."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]
_Asked = tuple[str, str]
"""A tenant, and the name that it asks for: what one tenant has begun never holds up another."""


class RefusedUrl(InvalidInput):
    """The URL is not one that may be posted to."""

    code: ClassVar[str] = "refused_url"
    hint = "an http or https URL at a public address, or at a host that the operator named (serve --allow-push)"


class NoAddress(RefusedUrl):
    """The host of the URL has no address now; it may have one later."""

    code: ClassVar[str] = "no_address"


@dataclass(frozen=True, slots=True)
class PushTarget:
    """A URL that may be posted to, and the addresses that it leads to."""

    scheme: str
    host: str
    port: int
    path: str
    addresses: tuple[str, ...]

    @property
    def host_header(self) -> str:
        """The host as the request names it."""
        return _joined(self.host, None if self.port == PORTS[self.scheme] else self.port)

    def url_at(self, address: str) -> str:
        """The URL with an address instead of the name."""
        return f"{self.scheme}://{_joined(address, self.port)}{self.path}"


@dataclass(slots=True, eq=False)
class _Lookup:
    """A tenant's name that is looked up, for all who wait for it. One that has begun goes on when they have left and
    keeps its slot, for its thread goes on, too: who asks again waits for the same. One that has no slot yet goes with
    them."""

    work: "asyncio.Task[list[str]]" = field(init=False)
    waiters: int = 0
    begun: bool = False


class UrlGuard:
    """`allowed` are hosts, each with a port or for any, that may have an address which is not public."""

    def __init__(
        self,
        allowed: Iterable[str] = (),
        *,
        resolve: Resolve | None = None,
        resolve_seconds: float = RESOLVE_SECONDS,
    ) -> None:
        self._allowed = frozenset(_place(entry) for entry in allowed)
        self._resolve = resolve or look_up
        self._resolve_seconds = resolve_seconds
        self._slots = Slots(AT_ONCE, MOST_OF_A_TENANT)
        self._lookups: dict[_Asked, _Lookup] = {}

    async def check(self, url: str, tenant: str) -> PushTarget:
        """Where a tenant's URL leads to now, or RefusedUrl: NoAddress if that is nowhere."""
        split = _split(url)
        host, port = (split.hostname or "").removesuffix("."), split.port or PORTS[split.scheme]
        addresses = await self._addresses(host, port, tenant)
        if not self._allowed & {(host, None), (host, port)} and not all(map(is_public, addresses)):
            raise RefusedUrl(f"{host!r:.200} leads to an address that is not public")
        path = (split.path or "/") + (f"?{split.query}" if split.query else "")
        return PushTarget(split.scheme, host, port, path, tuple(str(address) for address in addresses))

    async def _addresses(self, host: str, port: int, tenant: str) -> list[Address]:
        with suppress(ValueError):
            return [ipaddress.ip_address(host)]
        asked = (tenant, host)
        lookup = self._lookups.get(asked)
        if lookup is None:
            lookup = self._lookups[asked] = _Lookup()
            lookup.work = asyncio.create_task(self._look_up(lookup, asked, port))
            lookup.work.add_done_callback(lambda _: self._forget(asked, lookup))
        lookup.waiters += 1
        try:
            async with asyncio.timeout(self._resolve_seconds):
                found = await asyncio.shield(lookup.work)
            addresses = [ipaddress.ip_address(text) for text in found]
        except (OSError, ValueError, TimeoutError):  # UnicodeError is a ValueError
            addresses = []
        finally:
            self._leave(asked, lookup)
        if not addresses:
            raise NoAddress(f"{host!r:.200} has no address")
        return addresses

    async def _look_up(self, lookup: _Lookup, asked: _Asked, port: int) -> list[str]:
        tenant, host = asked
        async with self._slots.of(tenant):
            lookup.begun = True
            return await self._resolve(host, port)

    def _leave(self, asked: _Asked, lookup: _Lookup) -> None:
        lookup.waiters -= 1
        if not lookup.waiters and not lookup.begun:
            lookup.work.cancel()
            self._forget(asked, lookup)

    def _forget(self, asked: _Asked, lookup: _Lookup) -> None:
        if self._lookups.get(asked) is lookup:
            del self._lookups[asked]
        if lookup.work.done() and not lookup.work.cancelled():
            lookup.work.exception()  # it was told to whoever waited, if anybody still did


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host as this machine knows them."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def tell(found: list[str], error: OSError | UnicodeError | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(found)
        else:
            answer.set_exception(error)

    def ask() -> None:
        found: list[str] = []
        failure: OSError | UnicodeError | None = None
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        except (OSError, UnicodeError) as error:
            failure = error
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, found, failure)

    # A thread of its own: the loop's own few are for others, and the process does not wait for it at its end.
    threading.Thread(target=ask, name="holdfast-lookup", daemon=True).start()
    return await answer


def is_public(address: Address) -> bool:
    """Whether an address is anybody's: not this machine's, a private network's, or one that hides another."""
    if address in NAT64:
        return is_public(ipaddress.IPv4Address(address.packed[-4:]))
    if isinstance(address, ipaddress.IPv6Address) and (address not in UNICAST or address.scope_id is not None):
        return False
    if address in METADATA or any(address in network for network in RESERVED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _split(url: str) -> SplitResult:
    """The parts of a URL that cannot be read in two ways, or RefusedUrl."""
    if len(url) > MAX_URL or UNSAFE.search(url):
        raise RefusedUrl(f"a URL has at most {MAX_URL} characters of ASCII, without blanks and backslashes")
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError as error:
        raise RefusedUrl(f"{url!r:.200} is not a URL: {error}") from None
    if split.scheme not in PORTS:
        raise RefusedUrl(f"{url!r:.200} is neither an http nor an https URL")
    if "@" in split.netloc:
        raise RefusedUrl("a URL with a user or password in it is not posted to")
    if port == 0 or not _is_host(split.hostname or ""):
        raise RefusedUrl(f"{url!r:.200} does not name a host")
    return split


def _is_host(host: str) -> bool:
    if ":" not in host:
        return HOST.match(host) is not None
    try:
        return ipaddress.IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _place(entry: str) -> tuple[str, int | None]:
    """A host that the operator named, and its port if that was named too; InvalidInput if it is none."""
    try:
        split = urlsplit(f"//{entry}")
        host, port = split.hostname or "", split.port
    except ValueError:
        host, port = "", None
    if not _is_host(host) or entry.lower() != _joined(host, port):
        raise InvalidInput(f"{entry!r:.200} is not a host", hint="HOST or HOST:PORT, an IPv6 address in brackets")
    return host.removesuffix("."), port


def _joined(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"
