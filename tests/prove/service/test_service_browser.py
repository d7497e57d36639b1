"""The browser of a service proof never outlives the proof."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.prove.prover import gone
from tests.support.eventually import wait_until

LOOK = """
import asyncio, sys
from holdfast.prove.service.browser import browser_page

async def look():
    async with browser_page(sys.argv[1]):
        pass

asyncio.run(look())
"""


def test_a_browser_ends_with_whoever_started_it_even_by_kill_9(tmp_path: Path) -> None:
    browser, told = tmp_path / "chromium", tmp_path / "pid"
    browser.write_text(f"#!/bin/sh\necho $$ > {told}.new && mv {told}.new {told}\nexec sleep 600\n")
    browser.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", LOOK, str(browser)]) as proof:
        wait_until(told.exists)
        proof.kill()
    pid = int(told.read_text())
    try:
        wait_until(lambda: gone(pid))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
