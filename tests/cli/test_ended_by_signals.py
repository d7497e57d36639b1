"""A command ends at the first signal, also if a library swallows the cancel that the signal is."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, contextlib, sys
from holdfast.cli.service import run

async def command():
    try:
        print("begun", flush=True)
        for _ in range(int(sys.argv[1])):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        await asyncio.Event().wait()
    finally:
        print("put away", flush=True)

run(command())
"""


@pytest.mark.parametrize("swallowed", [0, 1, 3])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_is_enough(number: signal.Signals, swallowed: int) -> None:
    command = [sys.executable, "-c", PROGRAM, str(swallowed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (128 + number, "put away\n", "")
