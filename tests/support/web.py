"""HTTP clients for servers on this machine: no proxy stands between, and no certificates are loaded.

httpx loads all trusted certificates for every client that it makes, which takes longer than most tests.
"""

from typing import Any

import httpx2

PATIENCE = 30.0

LOCAL: dict[str, Any] = {"trust_env": False, "verify": False, "timeout": PATIENCE}


def web_client(**options: Any) -> httpx2.Client:
    """A client for tests without an event loop; `options` are httpx's, and go before ours."""
    return httpx2.Client(**LOCAL | options)


def async_web_client(**options: Any) -> httpx2.AsyncClient:
    """The same for tests with one."""
    return httpx2.AsyncClient(**LOCAL | options)
