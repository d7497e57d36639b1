"""A real Chromium, driven over its own protocol: open a page, look at it in light, dark or narrow, take a picture.

Only what the tests of our pages need; where no Chromium is installed, `find` says so.
"""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--remote-debugging-port=0",
)
PATIENCE_SECONDS = 30.0


def find() -> str | None:
    """The path of a Chromium on this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._connection = ExitStack()
        self._count = 0
        self.requested: list[str] = []
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [self._program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._page = self._connect()
            for domain in ("Page", "Runtime", "Network", "Log"):
                self._call(f"{domain}.enable")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait()
        self._profile.cleanup()

    def open(self, page: Path, *, width: int = 1000, dark: bool = False, scripts: bool = True) -> None:
        """Show a page of this machine; what it requests is in `requested`, what it complains of in `complaints`."""
        self.requested, self.complaints = [], []
        self._call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=page.as_uri())
        self._until("Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, *, height: int | None = None) -> bytes:
        """A PNG of the page: its beginning, or all of it."""
        width = self.ask("innerWidth")
        tall = height or self.ask("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": tall, "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def _connect(self) -> ClientConnection:
        port_file = Path(self._profile.name) / "DevToolsActivePort"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (port_file.exists() and port_file.read_text().count("\n")):
            assert self._process.poll() is None, "Chromium ended before it was ready"
            assert time.monotonic() < deadline, "Chromium did not become ready"
            time.sleep(0.02)
        port = port_file.read_text().splitlines()[0]
        without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with without_proxy.open(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page"]
        address = pages[0]["webSocketDebuggerUrl"]
        return self._connection.enter_context(connect(address, proxy=None, max_size=None))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        self._page.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = self._receive()
            if message.get("id") == self._count:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def _until(self, event: str) -> None:
        while self._receive().get("method") != event:
            pass

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._page.recv(timeout=PATIENCE_SECONDS))
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(parameters["request"]["url"])
        elif message.get("method") == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif message.get("method") in {"Runtime.exceptionThrown", "Page.javascriptDialogOpening"}:
            self.complaints.append(json.dumps(parameters))
        return message
