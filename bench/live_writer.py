"""Appends so many events a second to one session, each in a request of its own, until it is told to end."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Written:
    """How many events were acknowledged; `failed` says why it ended early."""

    count: int = 0
    failed: BaseException | None = None


@contextmanager
def writing(port: int, session: str, per_second: int) -> Iterator[Written]:
    """Write beside the caller; every tenth event is something that an agent says."""
    written, end = Written(), threading.Event()

    def write() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        begun = time.monotonic()
        try:
            while not end.wait(max(0.0, begun + written.count / per_second - time.monotonic())):
                connection.request("POST", f"/api/actions/{session}", json.dumps(_event(written.count)))
                answer = connection.getresponse()
                answer.read()
                if answer.status != http.client.CREATED:
                    raise RuntimeError(f"an append was answered with {answer.status}")
                written.count += 1
        except BaseException as error:
            written.failed = error
        finally:
            connection.close()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield written
    finally:
        end.set()
        thread.join()
    if written.failed is not None:
        raise written.failed


def _event(number: int) -> dict[str, object]:
    if number % 10:
        return {"type": "probe", "details": {"host": f"db-{number % 7}", "ms": number % 250}}
    said = {"role": "agent", "parts": [{"text": f"Check **{number}** is done. `ok`"}]}
    return {"type": "message", "details": said}
