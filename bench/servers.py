"""Server processes that are measured: where they listen, and what they take of the machine."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

END_SECONDS = 20.0
TICKS = os.sysconf("SC_CLK_TCK")
KB = 1024


class NotServed(Exception):
    """A server did not come up."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server process."""

    pid: int
    port: int

    @property
    def cpu_seconds(self) -> float:
        """The time that it has kept a processor busy; 0 where the system does not tell."""
        return cpu_seconds(self.pid)

    @property
    def rss_bytes(self) -> int:
        """What of it is in memory now."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * KB for line in lines if line.startswith("VmRSS:"))


@contextlib.contextmanager
def serving(module: str, *args: str, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server process that prints where it runs; NotServed if it does not."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *args],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**plain_environment(), **(environment or {})},
        )
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said:
                errors.seek(0)
                last = (errors.read().strip().splitlines() or ["no reason given"])[-1]
                raise NotServed(f"{module} did not start: {last}")
            port = urlsplit(json.loads(said)["url"]).port
            assert port is not None
            yield Server(process.pid, port)
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


@contextlib.contextmanager
def gateway(data: Path, *args: str) -> Iterator[Server]:
    """`holdfast serve` on this data folder."""
    with serving("holdfast", "serve", "--json", "--port=0", f"--data={data}", *args) as server:
        yield server


def plain_environment() -> dict[str, str]:
    """Ours, without what would change a gateway."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "OPENAI_"))}


def cpu_seconds(pid: int) -> float:
    """The time that a process has kept a processor busy; 0 if it is gone, or the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS
