"""One Chromium and one gateway for the tests of a module; each test has a tab of its own."""

from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser
from tests.dashboard.browsing import Tab, running_browser, tab_of
from tests.dashboard.screen import Screen, new_screen
from tests.gateway.process import running
from tests.support.web import web_client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as started:
        yield started


@pytest.fixture(scope="module")
def gateway_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway process."""
    with running(tmp_path_factory.mktemp("gateway") / "data") as gateway:
        yield gateway.url


@pytest.fixture(scope="module")
def client(gateway_url: str) -> Iterator[httpx2.Client]:
    with web_client(base_url=gateway_url) as opened:
        yield opened


@pytest.fixture
def tab(browser: Browser, gateway_url: str) -> Iterator[Tab]:
    """A tab; at its end, nothing may have been forbidden or have failed in it."""
    with tab_of(browser, gateway_url) as opened:
        yield opened
        opened.check_calm()


@pytest.fixture
def screen(browser: Browser, gateway_url: str) -> Iterator[Screen]:
    """The same, seen as a person does."""
    with new_screen(browser, gateway_url) as opened:
        yield opened
