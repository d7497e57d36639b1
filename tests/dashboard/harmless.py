"""Whether what a page shows is harmless: nothing of it has run, would run when it is pressed, or leads elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser
from tests.dashboard.browsing import Tab, tab_of

CALLED = """
window.numbers = [];
window.executed = (number) => window.numbers.push(number);
"""
STRANGE = (
    "main :is(script, iframe, object, embed, base, link, meta, style, form[action], [onerror], [onload], [onfocus])"
)
OPEN_ALL = "document.querySelectorAll('main [aria-expanded=false]').forEach((each) => each.click())"
PATIENCE_SECONDS = 180.0
SCROLLED = """(() => {
  const moved = [];
  for (const each of document.querySelectorAll("main, main *")) {
    const before = each.scrollTop;
    if (each.scrollHeight > each.clientHeight + 1) each.scrollTop = before + each.clientHeight * 0.8 * DIRECTION;
    if (Math.abs(each.scrollTop - before) > 1) moved.push([each.tagName, each.className, before, each.scrollTop]);
  }
  return moved;
})()"""


def check_harmless(tab: Tab) -> None:
    """Nothing that is in the page now has run, would run when it is pressed, or leads elsewhere than links may."""
    assert tab.ask("window.numbers") == []
    assert tab.ask("window.forbidden") == []
    assert tab.ask(f"document.querySelectorAll('{STRANGE}').length") == 0
    links = tab.ask("[...document.querySelectorAll('main a[href]')].map((each) => each.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}


def look_at_all(tab: Tab, direction: int = 1) -> None:
    """Scroll from one end to the other, with everything opened that can be."""
    deadline, quiet = time.monotonic() + PATIENCE_SECONDS, 0
    while quiet < 3:
        tab.ask(OPEN_ALL)
        check_harmless(tab)
        moved = tab.ask(SCROLLED.replace("DIRECTION", str(direction)))
        assert not moved or time.monotonic() < deadline, f"it goes on scrolling: {moved}"
        quiet = 0 if moved else quiet + 1
        tab.page.wait_for_timeout(20)  # a frame or two, so that what came into view is drawn


@contextmanager
def watched_tab(browser: Browser, url: str) -> Iterator[Tab]:
    """A tab in which every text would say that it ran; at its end, none did, and nothing had to be forbidden."""
    with tab_of(browser, url) as tab:
        tab.page.add_init_script(CALLED)
        yield tab
        check_harmless(tab)
        tab.check_calm()
