"""The same pages with PostgreSQL behind them."""

from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import expect
from tests.dashboard import samples
from tests.dashboard.browsing import needs_chromium
from tests.dashboard.screen import Screen
from tests.dashboard.whole_session import whole_session
from tests.dashboard.writing import append, describe, message, ok
from tests.gateway.process import running
from tests.support.postgres import Server

pytestmark = [pytest.mark.e2e, needs_chromium]


@pytest.fixture(scope="module")
def gateway_url(tmp_path_factory: pytest.TempPathFactory, postgres: Server) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("gateway"), "--store", postgres.new_store()) as gateway:
        yield gateway.url


def test_each_page_shows_what_is_there(screen: Screen, client: httpx2.Client) -> None:
    whole = whole_session(client, "engine")
    samples.ask(client, "engine")
    samples.remember(client, "user:ada", "favourite", "tea")
    runs = samples.post_runs(client, 2)
    describe(client, "deleted-one")
    ok(client.delete("/api/sessions/deleted-one"))
    pages = {
        "sessions?q=originals": "Ada",
        f"sessions/{whole.session}": "A head",
        f"sessions/{whole.session}?panel=agents": "2 sessions below",
        f"sessions/{whole.session}?panel=files": "notes.txt",
        f"sessions/{whole.session}?panel=details": "Chain verified",
        "overview": "Sessions begun",
        "approvals": "May I append",
        "memory?namespace=user:ada": "favourite",
        f"proofs/{runs[1]}": "Where it broke",
        "administration?tab=audit": "/api/",
        "administration?tab=archives": "deleted-one",
    }
    for place, words in pages.items():
        screen.open(place)
        expect(screen.page.get_by_role("main").get_by_text(words).first).to_be_visible()


def test_what_happens_appears_live(screen: Screen, client: httpx2.Client) -> None:
    append(client, "live", message("user", "the first words"))
    screen.open("sessions/live")
    article = screen.page.get_by_role("article")
    expect(article.get_by_text("the first words")).to_be_visible()
    expect(screen.page.get_by_text("Live", exact=True)).to_be_visible()
    append(client, "live", message("agent", "the next words"))
    expect(article.get_by_text("the next words")).to_be_visible()
