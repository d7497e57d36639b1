"""A command ends at the first signal, also if a library swallows the cancel that the signal is."""

import signal

import pytest
from tests.support.processes import PATIENCE, first_line, python

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

run(command(), again_seconds=0.01)
"""


@pytest.mark.parametrize("swallowed", [0, 1, 3])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_is_enough(number: signal.Signals, swallowed: int) -> None:
    with python("-c", PROGRAM, str(swallowed)) as process:
        assert first_line(process) == "begun\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (128 + number, "put away\n", "")
