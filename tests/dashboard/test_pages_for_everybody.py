"""Every page: in both themes and on a phone nothing overflows, and all that can be used has a name."""

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard import samples
from tests.dashboard.browsing import PHONE, needs_chromium
from tests.dashboard.screen import new_screen
from tests.dashboard.whole_session import whole_session
from tests.dashboard.writing import append, message

pytestmark = [pytest.mark.e2e, needs_chromium]

LONG = "a-very-long-name-without-any-place-to-break-it-" * 3
PAGES = {
    "overview": "Sessions begun",
    "approvals": "May I append",
    "memory?namespace=user:ada": "favourite",
    "proofs": "Over time",
    "administration": "There is no token",
    "administration?tab=audit": "/api/",
    "administration?tab=retention": "Dry run",
    "administration?tab=archives": "Undelete",
    "administration?tab=backup": "Back up now",
}
"""What is on each of them, once it is there."""


@pytest.fixture(scope="module")
def runs(client: httpx2.Client) -> list[str]:
    """Something on every page, with names that do not fit."""
    samples.ask(client, LONG[:60])
    samples.remember(client, "user:ada", f"favourite-{LONG}", LONG * 5, LONG)
    samples.sessions(client, [LONG[:120], "one"])
    samples.told(client.delete(f"/api/sessions/{LONG[:120]}?reason={LONG}"))
    return samples.post_runs(client, 4, target=f"https://{LONG}.example/a2a")


@pytest.mark.parametrize(("width", "dark"), [(PHONE, False), (PHONE, True), (1280, False), (1280, True)])
def test_pages_fit_and_have_names(browser: Browser, gateway_url: str, runs: list[str], width: int, dark: bool) -> None:
    reports = {f"proofs/{runs[1]}": "Where it broke", f"proofs/{runs[3]}?with={runs[1]}": "What else differs|changed"}
    with new_screen(browser, gateway_url, width=width, dark=dark) as screen:
        for place, words in (PAGES | reports).items():
            screen.open(place)
            main = screen.page.get_by_role("main")
            expect(main.get_by_text(words.split("|")[-1]).first).to_be_visible()
            assert (place, screen.nameless) == (place, [])
            assert (place, screen.wider) == (place, [])


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_nothing_jumps_while_a_page_loads(
    browser: Browser, gateway_url: str, client: httpx2.Client, runs: list[str], width: int
) -> None:
    """What is seen stays where it is (the browser's own measure: 0.1 is a page that people call restless)."""
    whole = whole_session(client, f"calm-{width}")
    tall = "\n\n".join(f"paragraph {number}" for number in range(20))
    append(client, f"tall-{width}", *(message("agent", tall) for _ in range(8)), message("agent", "A head"))
    more = {
        "sessions": "A head",
        **{f"sessions/{whole.session}{rest}": "A head" for rest in ("", "?panel=details", "?panel=files")},
    }
    more[f"sessions/tall-{width}"] = "A head"
    with new_screen(browser, gateway_url, width=width) as screen:
        for place, words in (PAGES | more).items():
            screen.open(place)
            expect(screen.page.get_by_text(words).first).to_be_attached()
            expect(screen.page.locator("main [aria-busy=true]")).to_have_count(0)
            screen.page.wait_for_load_state("networkidle")
            jumps = screen.page.evaluate("window.jumps.reduce((sum, each) => sum + each, 0)")
            assert (place, jumps) <= (place, 0.05)
