"""A real Chromium without a window, driven by its DevTools protocol: open a page, ask it, take its picture."""

import asyncio
import base64
import itertools
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError
from holdfast.prove import leash

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--headless=new", "--remote-debugging-port=0", "--remote-allow-origins=*", "--disable-gpu"),
    *("--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-first-run", "--no-default-browser-check", "--window-size=1400,900"),
)
START_SECONDS = 60.0
ANSWER_SECONDS = 30.0
LOOK_EVERY_SECONDS = 0.1
MOST_BYTES = 64 * 1024 * 1024


class BrowserFault(HoldfastError):
    """The browser did not do what it was told, so nothing can be said of the page."""

    code = "browser_fault"
    status = 503


def find() -> str | None:
    """The path of a Chromium on this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class BrowserPage:
    """One page of one browser."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self._session: str | None = None

    async def begin(self) -> None:
        """Make the page."""
        target = await self._call("Target.createTarget", url="about:blank")
        attached = await self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        await self._call("Page.enable")

    async def before_each_page(self, script: str) -> None:
        """Run a script before those of every page that is opened."""
        await self._call("Page.addScriptToEvaluateOnNewDocument", source=script)

    async def open(self, url: str) -> None:
        """Go to a page; BrowserFault if there is none."""
        found = await self._call("Page.navigate", url=url)
        if found.get("errorText"):
            raise BrowserFault(f"{url} cannot be opened: {found['errorText']}")

    async def value(self, expression: str) -> Any:
        """What an expression of the page's own language gives."""
        found = await self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise BrowserFault(f"{expression:.80} fails: {found['exceptionDetails'].get('text')}")
        return found["result"].get("value")

    async def picture(self) -> bytes:
        """The page as it looks, a PNG."""
        return base64.b64decode((await self._call("Page.captureScreenshot", format="png"))["data"])

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._connection.send(json.dumps(message))
                while True:
                    found = json.loads(await self._connection.recv())
                    if found.get("id") == number:
                        break
        except TimeoutError:
            raise BrowserFault(f"the browser did not answer {method} within {ANSWER_SECONDS:g} s") from None
        except Exception as error:
            raise BrowserFault(f"the browser is gone: {type(error).__name__}: {error}") from error
        if "error" in found:
            raise BrowserFault(f"{method}: {found['error'].get('message')}")
        result: dict[str, Any] = found.get("result", {})
        return result


@asynccontextmanager
async def browser_page(program: str) -> AsyncIterator[BrowserPage]:
    """A page of a browser that is started for it on a leash, with a profile that is thrown away."""
    from websockets.asyncio.client import connect

    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryDirectory(prefix="holdfast-browser-", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", leash.__file__, str(theirs.fileno()), "-"),
            *(program, *flags, f"--user-data-dir={profile}", "about:blank"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        try:
            url = await _devtools(Path(profile), process)
            async with connect(url, max_size=MOST_BYTES, proxy=None, open_timeout=START_SECONDS) as connection:
                page = BrowserPage(connection)
                await page.begin()
                yield page
        finally:
            leash.let_go(ours)
            await process.wait()


async def _devtools(profile: Path, process: asyncio.subprocess.Process) -> str:
    """Where the browser listens: it says so in a file of its profile."""
    try:
        async with asyncio.timeout(START_SECONDS):
            while process.returncode is None:
                with suppress(OSError, ValueError):
                    port, path = (profile / "DevToolsActivePort").read_text().split("\n")[:2]
                    return f"ws://127.0.0.1:{int(port)}{path}"
                await asyncio.sleep(LOOK_EVERY_SECONDS)
    except TimeoutError:
        raise BrowserFault(f"the browser did not start within {START_SECONDS:g} s") from None
    raise BrowserFault(f"the browser ended with {process.returncode} before it could be used")
