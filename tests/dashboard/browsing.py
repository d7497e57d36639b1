"""The dashboard in a real Chromium: one tab, what it complained of, and what its policy forbade."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Error, Page, Playwright, expect, sync_playwright
from tests.support import chromium
from tests.support.eventually import wait_until

PROGRAM = chromium.find()
NO_CHROMIUM = "NOT RUN: the dashboard was not looked at, as there is no Chromium (scripts/chromium-here)"
needs_chromium = pytest.mark.skipif(PROGRAM is None, reason=NO_CHROMIUM)

PATIENCE_MS = 60_000
PICTURE_MS = 5_000
PHONE = 390
EVIDENCE = Path(".artifacts/dashboard")

expect.set_options(timeout=PATIENCE_MS)

FORBIDDEN = """
window.forbidden = [];
window.jumps = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.jumps.push(each.value);
}).observe({ type: "layout-shift", buffered: true });
addEventListener("securitypolicyviolation", (e) => window.forbidden.push(`${e.violatedDirective} ${e.blockedURI}`));
"""


class SharedBrowser:
    """One Chromium for many tests, and another one if it has ended."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None

    def get(self) -> Browser:
        """The browser, which starts when it is first asked for."""
        if self._playwright is None:
            self._playwright = sync_playwright().start()
        if self._browser is None or not self._browser.is_connected():
            self._browser = self._playwright.chromium.launch(executable_path=PROGRAM, args=chromium.FLAGS)
        return self._browser

    def close(self) -> None:
        """End it; it may be asked for again."""
        if self._browser is not None:
            self._browser.close()
        if self._playwright is not None:
            self._playwright.stop()
        self._playwright = self._browser = None


@dataclass
class Tab:
    """A page of a gateway."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def go(self, place: str) -> None:
        """Show a place of the dashboard, as who opens a link in a new tab."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/#/{place}")

    def asked(self, dialog: Dialog) -> None:
        """A window of the browser's own: the page never opens one, so something that was said did."""
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self.page.evaluate(expression)

    def seqs(self) -> list[int]:
        """The seqs of the entries in the page now, from top to bottom."""
        found = "[...document.querySelectorAll('[data-seq]')].map((each) => Number(each.dataset.seq))"
        return [int(each) for each in self.ask(found)]

    def wait_for_top_below(self, seq: int) -> None:
        """Wait until an older entry than this one is in the page. (The page's policy lets nobody evaluate a text in it,
        so the waiting is done here.)"""
        wait_until(lambda: self.seqs()[0] < seq or None)

    def wait_until(self, look: Callable[[], object]) -> None:
        """Wait until this is so; what the page asks for is passed on meanwhile."""

        def looked() -> object:
            self.page.wait_for_timeout(20)
            return look()

        wait_until(looked)

    def check_calm(self) -> None:
        """Nothing was forbidden, nothing failed, and nothing was asked of another site."""
        assert self.ask("window.forbidden") == []
        assert self.errors == []
        assert [each for each in self.requested if not each.startswith((self.url, "blob:", "data:", "about:"))] == []

    def evidence(self) -> str:
        """Keep what a failed test leaves: a picture, the address, what the console said and which requests failed.
        Where it is, and what was said last."""
        test = os.environ["PYTEST_CURRENT_TEST"].partition(" (")[0].rpartition("/")[2]
        folder = EVIDENCE / re.sub(r"[^\w.-]+", "-", test)[:150].strip("-")
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.glob("*.txt"))) + 1
        lines = [f"address: {self.page.url}", *self.console]
        try:
            self.page.screenshot(path=folder / f"{number}.png", timeout=PICTURE_MS)
        except Error as error:
            lines.append(f"no picture: {error.message.splitlines()[0]}")
        (folder / f"{number}.txt").write_text("\n".join(lines) + "\n")
        return "\n".join([f"The page is in {folder}/{number}.*", *lines[-12:]])


@contextmanager
def tab_of(browser: Browser, url: str, *, width: int = 1280, **options: Any) -> Iterator[Tab]:
    """A tab with nothing kept from others."""
    context = browser.new_context(viewport={"width": width, "height": 860}, **options)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.add_init_script(FORBIDDEN)
    tab = Tab(page, url)
    page.on("pageerror", lambda error: tab.errors.append(str(error)))
    page.on("pageerror", lambda error: tab.console.append(f"error: {error}"))
    page.on("console", lambda message: tab.console.append(f"{message.type}: {message.text}"))
    page.on("requestfailed", lambda request: tab.console.append(f"failed: {request.url} {request.failure}"))
    page.on("crash", lambda _: tab.console.append("the page was ended"))
    page.on("dialog", tab.asked)
    page.on("request", lambda request: tab.requested.append(request.url))
    try:
        yield tab
    except Exception as error:
        error.add_note(tab.evidence())
        raise
    finally:
        context.close()
