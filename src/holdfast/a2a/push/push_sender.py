"""Posting a piece of news: to the address that was checked, a few times at most, without following redirects."""

import asyncio
import logging
import time
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

from holdfast.a2a.protocol import v03, v10
from holdfast.a2a.push.url_guard import RefusedUrl, UrlGuard
from holdfast.core.retry import Backoff
from holdfast.store.tasks import StoredPushConfig

if TYPE_CHECKING:
    import ssl

TRIES = 8
POSTS = Backoff(0.5)
TRY_SECONDS = 10.0
ASLEEP_SECONDS = 1.5 * TRY_SECONDS
"""A try that took longer than this was not tried: this process stood still."""
AT_ONCE = 32
"""Posts under way at one moment."""

MEDIA_TYPES = {v10.VERSION: "application/a2a+json", v03.VERSION: "application/json"}
"""What a post says that it is, in the version that asked for it."""
PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})

log = logging.getLogger("holdfast.a2a")


class PushSender:
    """Posts JSON to where a configuration says. It keeps no connection between posts: one that was made for a name must
    never be used for another at the same address."""

    def __init__(
        self,
        guard: UrlGuard,
        *,
        backoff: Backoff = POSTS,
        tls: "ssl.SSLContext | None" = None,
        asleep_seconds: float = ASLEEP_SECONDS,
    ) -> None:
        self._guard = guard
        self._asleep_seconds = asleep_seconds
        self._backoff = backoff
        self._given_tls = tls
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def post(self, config: StoredPushConfig, body: bytes, tenant: str) -> bool:
        """Whether a tenant's news were taken; if not, a warning says why."""
        number = 1
        while True:
            async with self._slots:
                began = time.monotonic()
                refusal, passing = await self._try(config, body, tenant, number)
            if refusal is None:
                return True
            if passing and time.monotonic() - began > self._asleep_seconds:
                continue
            if not passing or number == TRIES:
                break
            await asyncio.sleep(self._backoff.pause(number))
            number += 1
        log.warning("news of task %s were not taken after %d tries: %s", config.task_id, number, refusal)
        return False

    async def _try(self, config: StoredPushConfig, body: bytes, tenant: str, number: int) -> tuple[str | None, bool]:
        """Why it was not taken, None if it was; and whether trying again may help."""
        import httpx2

        try:
            async with asyncio.timeout(TRY_SECONDS):
                encrypts = config.url.lower().startswith("https:")
                tls = await asyncio.to_thread(lambda: self._tls) if encrypts else False
                target = await self._guard.check(config.url, tenant)
                address = target.addresses[(number - 1) % len(target.addresses)]
                async with (
                    httpx2.AsyncClient(verify=tls, trust_env=False, timeout=TRY_SECONDS) as client,
                    client.stream(
                        "POST",
                        target.url_at(address),
                        content=body,
                        headers=_headers(config, target.host_header),
                        extensions={"sni_hostname": target.host},
                        follow_redirects=False,
                    ) as response,
                ):
                    status = response.status_code
        except RefusedUrl as error:
            return error.message, True  # a name that has no address now may have one again
        except (httpx2.TransportError, httpx2.InvalidURL, TimeoutError) as error:
            return str(error) or type(error).__name__, True
        if 200 <= status < 300:
            return None, False
        return f"the answer was {status}", status >= 500 or status in PASSING

    @cached_property
    def _tls(self) -> "ssl.SSLContext":
        import httpx2

        # Loading the certificates takes 30 ms: once, and not on the loop.
        return self._given_tls or httpx2.create_ssl_context(trust_env=False)


def _headers(config: StoredPushConfig, host: str) -> dict[str, str]:
    headers = {"Host": host, "Content-Type": MEDIA_TYPES[config.version], "User-Agent": "holdfast"}
    if config.token is not None:
        headers["X-A2A-Notification-Token"] = config.token
    if config.scheme is not None and config.credentials is not None:
        headers["Authorization"] = f"{config.scheme} {config.credentials}"
    return headers
