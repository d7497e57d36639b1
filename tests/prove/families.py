"""`python families.py PORT`: a server with children of every kind, which prints their pids.

One child is plain, one is in a session of its own, one is deaf to SIGTERM and has an empty environment, and one is a
daemon that its parent no longer knows.
"""

import http.server
import os
import subprocess
import sys

SLEEP = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def daemon() -> int:
    """Start a process whose parent is gone, in a session of its own, and return its pid."""
    telling, told = os.pipe()
    if (between := os.fork()) == 0:
        os.setsid()
        pid = os.fork()
        if pid:
            os.write(told, str(pid).encode())
            os._exit(0)
        os.execv(sys.executable, [sys.executable, "-c", SLEEP])
    os.waitpid(between, 0)
    return int(os.read(telling, 32))


plain = subprocess.Popen([sys.executable, "-c", SLEEP])
session = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
deaf = subprocess.Popen([sys.executable, "-c", DEAF], start_new_session=True, env={})
print("family", os.getpid(), plain.pid, session.pid, deaf.pid, daemon(), "end", flush=True)  # noqa: T201
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
server.serve_forever()
