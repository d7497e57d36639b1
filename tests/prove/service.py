"""`python service.py KIND PORT DATA HOW`: restarts a broken runtime as a service manager would, in the background.

HOW is `start`, `stop` or `kill`. The pid of the service is in DATA/pid, what it was ended with in DATA/ended.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

kind, port, data, how = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
if how != "start":
    pid = int((data / "pid").read_text())
    os.kill(pid, {"stop": signal.SIGTERM, "kill": signal.SIGKILL}[how])
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text():
            time.sleep(0.01)
    with (data / "ended").open("a") as ended:
        ended.write(f"{how} {os.environ.get('HOLDFAST_HOW')}\n")
service = subprocess.Popen(
    [sys.executable, "-m", "holdfast.prove.broken", kind, "--port", port, "--data", str(data)],
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
    start_new_session=True,
)
(data / "pid").write_text(str(service.pid))
