"""One Chromium and one gateway for the tests of a module; each test has a tab of its own.

A module that says `ON_BOTH_ENGINES = True` has its tests with a gateway on each of them in turn."""

from collections.abc import Generator, Iterator

import httpx2
import pytest
from playwright.sync_api import Browser
from tests.conftest import ENGINES
from tests.dashboard.browsing import Tab, running_browser, tab_of
from tests.dashboard.overdue import LIMIT_SECONDS, Watch, watch
from tests.dashboard.screen import Screen, new_screen
from tests.gateway.process import running
from tests.support.postgres import Server
from tests.support.web import web_client


WATCH = pytest.StashKey[Watch]()


def pytest_itemcollected(item: pytest.Item) -> None:
    """The alarm of pytest is for what the watch over the browser does not end."""
    item.add_marker(pytest.mark.timeout(LIMIT_SECONDS + 60))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """No test waits for its browser without an end."""
    with watch() as item.stash[WATCH]:
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Whoever reads of a failure is told what its pages were like."""
    if call.excinfo is not None and isinstance(call.excinfo.value, Exception):
        error = call.excinfo.value
        if (ended := item.stash[WATCH].ended) is not None:
            error.add_note(f"It took more than {LIMIT_SECONDS:g} s, and was ended from outside ({ended}).")
        if call.when == "call" and isinstance(item, pytest.Function):
            pages = [each.tab if isinstance(each, Screen) else each for each in item.funcargs.values()]
            for page in pages:
                if isinstance(page, Tab):
                    error.add_note(page.evidence())
    return (yield)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each engine in turn, where a module wants that."""
    if getattr(metafunc.module, "ON_BOTH_ENGINES", False) and "gateway_url" in metafunc.fixturenames:
        metafunc.parametrize("gateway_url", ENGINES, indirect=True, scope="module")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as started:
        yield started


@pytest.fixture(scope="module")
def gateway_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway process."""
    store: tuple[str, ...] = ()
    if getattr(request, "param", "sqlite") == "postgresql":
        server: Server = request.getfixturevalue("postgres")
        store = ("--store", server.new_store())
    with running(tmp_path_factory.mktemp("gateway") / "data", *store) as gateway:
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
