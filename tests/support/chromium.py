"""A real Chromium: open a page, look at it in light, dark or narrow, take a picture.

Only what the tests of our pages need; where no Chromium is installed, `find` says so (scripts/chromium-here).
"""

import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import ConsoleMessage, Dialog, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def find() -> str | None:
    """The path of a Chromium on this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._page: Page | None = None
        self.requested: list[str] = []
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        self._playwright = sync_playwright().start()
        try:
            self._browser = self._playwright.chromium.launch(executable_path=self._program, args=FLAGS)
        except BaseException:
            self._playwright.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._browser.close()
        self._playwright.stop()

    def open(self, page: Path, *, width: int = 1000, dark: bool = False, scripts: bool = True) -> None:
        """Show a page of this machine; what it requests is in `requested`, what it complains of in `complaints`."""
        if self._page is not None:
            self._page.context.close()
        self.requested, self.complaints = [], []
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        self._page = context.new_page()
        self._page.on("request", lambda request: self.requested.append(request.url))
        self._page.on("console", self._heard)
        self._page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._page.on("dialog", self._asked)
        self._page.goto(page.as_uri())

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        assert self._page is not None
        return self._page.evaluate(expression)

    def picture(self, *, height: int | None = None) -> bytes:
        """A PNG of the page: its beginning, or all of it."""
        assert self._page is not None
        tall = height or self.ask("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.ask("innerWidth"), "height": tall}
        return self._page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _asked(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()
