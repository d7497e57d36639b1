"""Another tenant, who appends and reads and notices whether it has to wait."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PAUSE_SECONDS = 0.005
SESSION = "/api/actions/bystander"
ACTION = json.dumps({"type": "note", "details": {"text": "x" * 200}}).encode()


@dataclass(slots=True)
class Bystander:
    """One client; `patience` is how many seconds it waits for an answer."""

    url: str
    token: str
    patience: float
    appends: list[float] = field(default_factory=list)
    """How long each append took, in seconds."""
    reads: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def ask(self) -> None:
        """An append and a read."""
        self.appends.append(self._call("POST", SESSION, ACTION))
        self.reads.append(self._call("GET", f"{SESSION}?limit=10"))

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask again and again while this lasts."""
        ended = threading.Event()

        def go_on() -> None:
            while not ended.wait(PAUSE_SECONDS):
                self.ask()

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _call(self, method: str, path: str, body: bytes | None = None) -> float:
        began = time.perf_counter()
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=self.patience)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            said = answer.read()
            if answer.status >= 300:
                self.failures.append(f"{method} {path}: {answer.status} {said[:200]!r}")
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(f"{method} {path}: {error!r} after {time.perf_counter() - began:.1f} s")
        finally:
            connection.close()
        return time.perf_counter() - began
