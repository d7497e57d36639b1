"""A Chromium to measure pages in, where there is one (scripts/chromium-here) and Playwright to drive it."""

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from bench.servers import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def missing() -> str | None:
    """Why no page can be measured here; None if it can."""
    if importlib.util.find_spec("playwright") is None:
        return "there is no Playwright (make test sets it up)"
    from tests.support.chromium import find

    return None if find() else "there is no Chromium (scripts/chromium-here)"


@contextmanager
def browser() -> Iterator["Browser"]:
    """A Chromium without a window."""
    from playwright.sync_api import sync_playwright
    from tests.support.chromium import FLAGS, find

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=find(), args=FLAGS)
        try:
            yield started
        finally:
            started.close()


def get(server: Server, path: str) -> dict[str, Any]:
    """What the gateway answers."""
    with urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
