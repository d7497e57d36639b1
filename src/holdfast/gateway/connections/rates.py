"""How often: so many a second, and so many at once after a pause.

What is kept of a caller is one number, the time at which it would have been done had it kept to the rate; a caller
that was quiet for long enough is forgotten. However many callers there are, only the latest few thousand are known.
"""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.gateway.errors import TooManyRequests
from holdfast.http.answers import problem_answer, refuse_upgrade

MOST_CALLERS = 10_000
ROUNDING_SECONDS = 1e-6
"""What is lost where the time since a machine's start is added to: nobody waits for that."""
SAME_NETWORK = 64
"""Bits that the addresses of one IPv6 customer share: it has the rest for itself."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many a second, and at most `burst` at once."""

    per_second: float
    burst: int

    def done_at(self, before: float, now: float, number: int = 1) -> float:
        """When someone who was to be done at `before` will be, with so many more."""
        return max(before, now) + number / self.per_second

    def wait(self, done_at: float, now: float) -> float:
        """Seconds until this is within the rate; 0 or less if it is."""
        return done_at - now - self.burst / self.per_second


class Rates:
    """One rate, held by each of many callers."""

    def __init__(
        self, rate: Rate, clock: Callable[[], float] = time.monotonic, most_callers: int = MOST_CALLERS
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._most_callers = most_callers
        self._done_at: OrderedDict[str, float] = OrderedDict()

    def take(self, caller: str) -> float | None:
        """Count one; or, if that is too many, the seconds to wait before the next, and it does not count."""
        now = self._clock()
        before = self._done_at.pop(caller, now)
        done_at = self._rate.done_at(before, now)
        wait = self._rate.wait(done_at, now)
        self._done_at[caller] = before if wait > ROUNDING_SECONDS else done_at
        if len(self._done_at) > self._most_callers:
            self._done_at.popitem(last=False)
        return wait if wait > ROUNDING_SECONDS else None

    def wait(self, caller: str) -> float | None:
        """The seconds to wait if one more were too many now; nothing is counted."""
        now = self._clock()
        wait = self._rate.wait(self._rate.done_at(self._done_at.get(caller, now), now), now)
        return wait if wait > ROUNDING_SECONDS else None

    def __len__(self) -> int:
        return len(self._done_at)


class RateLimit:
    """The layer: a caller that asks too often is told when to come back, before anything of its body is read."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait = self._rates.take(caller_key(scope)) if scope["type"] in {"http", "websocket"} else None
        if wait is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await problem_answer(too_many(wait))(scope, receive, send)
        else:
            await refuse_upgrade(problem_answer(too_many(wait)), scope, receive, send)


def too_many(wait: float) -> TooManyRequests:
    """The refusal of somebody who has to wait."""
    seconds = max(1, math.ceil(wait))
    return TooManyRequests(f"too many requests: wait {seconds} s", retry_after=seconds)


def caller_key(scope: Scope) -> str:
    """Whose request this is: the token's, or else the address's."""
    caller = scope.get("holdfast.caller")
    return address_key(scope) if caller is None or caller.token_id is None else caller.token_id


def address_key(scope: Scope) -> str:
    """Where a request comes from; all addresses of one IPv6 network are one."""
    client = scope.get("client")
    return network_of(client[0]) if client else ""


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """The address, or the network of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4 or parsed.is_loopback:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((address.partition("%")[0], SAME_NETWORK), strict=False))
