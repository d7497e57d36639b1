"""A real HAProxy with deploy/haproxy.cfg, whose names of containers are replaced by addresses of this machine.

Where no HAProxy is installed, `find` says so (scripts/haproxy-here).
"""

import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"
PATIENCE = 30.0


def find() -> str | None:
    """The path of an HAProxy on this machine."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")


def configuration(port: int, gateways: dict[str, int]) -> str:
    """The deployed configuration, listening on a port of this machine and with gateways on others of its ports."""
    text, binds = re.subn(r"bind :9000\b", f"bind 127.0.0.1:{port}", FILE.read_text())
    assert binds == 1
    for name, at in gateways.items():
        text, servers = re.subn(rf"server {name} \S+", f"server {name} 127.0.0.1:{at}", text)
        assert servers == 1, name
    return text


@contextmanager
def running(program: str, folder: Path, port: int, gateways: dict[str, int]) -> Iterator[str]:
    """The balancer's URL, once a request through it is answered; ended with the block."""
    file = folder / "haproxy.cfg"
    file.write_text(configuration(port, gateways))
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen([program, "-W", "-db", "-f", str(file)], stderr=subprocess.DEVNULL) as process:
        try:
            _await(url, process)
            yield url
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        assert process.poll() is None, "HAProxy did not start"
        try:
            with ask.open(f"{url}/readyz", timeout=5):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    raise AssertionError("no gateway answers through HAProxy")
