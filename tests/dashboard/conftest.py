"""One gateway for the tests of a module, and one Chromium for all modules; each test has a tab of its own.

A module that says `ON_BOTH_ENGINES = True` has its tests with a gateway on each of them in turn."""

from collections.abc import Callable, Generator, Iterator

import httpx2
import pytest
from playwright.sync_api import Browser
from tests.conftest import ENGINES
from tests.dashboard.browsing import SharedBrowser, Tab, tab_of
from tests.dashboard.guarded import Guarded, guarded_gateway
from tests.dashboard.overdue import LIMIT_SECONDS, Watch, watch
from tests.dashboard.screen import Screen, new_screen
from tests.gateway.process import running
from tests.support.postgres import Server
from tests.support.web import web_client

NewStore = Callable[[], tuple[str, ...]]
SHARED = pytest.StashKey[SharedBrowser]()
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
    if getattr(metafunc.module, "ON_BOTH_ENGINES", False) and "new_store" in metafunc.fixturenames:
        metafunc.parametrize("new_store", ENGINES, indirect=True, scope="module")


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Browser:
    """A Chromium."""
    stash = request.config.stash
    if SHARED not in stash:
        stash[SHARED] = SharedBrowser()
        request.config.add_cleanup(stash[SHARED].close)
    return stash[SHARED].get()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """The browser goes before the tests of another folder begin: Playwright's event loop is in the way of theirs."""
    try:
        return (yield)
    finally:
        if SHARED in item.config.stash and (nextitem is None or nextitem.path.parent != item.path.parent):
            item.config.stash[SHARED].close()


@pytest.fixture(scope="module")
def new_store(request: pytest.FixtureRequest) -> NewStore:
    """What tells `serve` of a new store: nothing if it is SQLite."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return tuple
    server: Server = request.getfixturevalue("postgres")
    return lambda: ("--store", server.new_store())


@pytest.fixture(scope="module")
def gateway_url(new_store: NewStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway process."""
    with running(tmp_path_factory.mktemp("gateway") / "data", *new_store()) as gateway:
        yield gateway.url


@pytest.fixture(scope="module")
def guarded(new_store: NewStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A gateway that asks for tokens."""
    with guarded_gateway(tmp_path_factory.mktemp("guarded") / "data", *new_store()) as gateway:
        yield gateway


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
