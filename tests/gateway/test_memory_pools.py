"""The threads of a gateway share their memory pools."""

import subprocess
import sys

import pytest

COUNT = """
import ctypes, sys, threading
from holdfast.gateway.operations.memory import share_pools

if sys.argv[1] == "shared":
    assert share_pools()
done = threading.Barrier(12)

def work():
    kept = [ctypes.create_string_buffer(2_000) for _ in range(500)]
    done.wait()

threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
"""


def pools(how: str) -> int:
    said = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True).stdout
    return said.count("<heap nr=")


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")
def test_threads_share_two_pools() -> None:
    assert pools("own") > 2, "the test would not see it"
    assert pools("shared") <= 2
