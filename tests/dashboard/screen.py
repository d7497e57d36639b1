"""A person's view of the dashboard: what is seen and named on a tab, and whether it fits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Locator, expect
from tests.dashboard.browsing import PATIENCE_MS, Tab, tab_of

expect.set_options(timeout=PATIENCE_MS)

NAMELESS = """() => [...document.querySelectorAll('button, a, input, select, textarea, summary, [role=img]')]
  .filter((each) => each.checkVisibility())
  .filter((each) => !(each.textContent.trim() || each.getAttribute('aria-label') || each.getAttribute('title')
    || each.labels?.length || each.getAttribute('aria-labelledby')))
  .map((each) => each.outerHTML.slice(0, 200))"""
WIDER = """() => [...document.querySelectorAll('body, main, main > *')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== 'auto')
  .map((each) => `${each.tagName}.${each.className} ${each.scrollWidth} > ${each.clientWidth}`)"""


class Screen:
    """One tab, by what a person finds on it."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.page = tab.page

    @property
    def url(self) -> str:
        """The gateway's address."""
        return self.tab.url

    def open(self, place: str) -> None:
        """Show a place of the dashboard, such as `proofs`."""
        self.tab.go(place)

    def sees(self, text: str) -> Locator:
        """Wait until this text is seen."""
        found = self.page.get_by_text(text).first
        expect(found).to_be_visible()
        return found

    def button(self, name: str, *, exact: bool = False) -> Locator:
        """The button of this name."""
        return self.page.get_by_role("button", name=name, exact=exact)

    def region(self, name: str) -> Locator:
        """The part of the page with exactly this name."""
        return self.page.get_by_role("region", name=name, exact=True)

    def heading(self, name: str) -> None:
        """Wait until the page has this heading."""
        expect(self.page.get_by_role("heading", name=name, exact=True)).to_be_attached()

    @property
    def copied(self) -> str:
        """What is on the clipboard."""
        expect(self.button("Copied")).to_be_visible()
        found: str = self.page.evaluate("navigator.clipboard.readText()")
        return found

    @property
    def nameless(self) -> list[str]:
        """What can be used and has no name that a screen reader could say."""
        found: list[str] = self.page.evaluate(NAMELESS)
        return found

    @property
    def wider(self) -> list[str]:
        """What is wider than the place that it has."""
        found: list[str] = self.page.evaluate(WIDER)
        return found


@contextmanager
def new_screen(browser: Browser, url: str, *, dark: bool = False, **options: Any) -> Iterator[Screen]:
    """A tab of its own; at its end, nothing may have been forbidden or have failed in it."""
    ours: dict[str, Any] = {
        "color_scheme": "dark" if dark else "light",
        "permissions": ["clipboard-read", "clipboard-write"],
        "reduced_motion": "reduce",
    }
    with tab_of(browser, url, **ours | options) as tab:
        yield Screen(tab)
        tab.page.unroute_all(behavior="ignoreErrors")
        tab.check_calm()
