"""A real PgBouncer before PostgreSQL: in session mode a gateway works as ever, in transaction mode it says why not."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from tests.gateway.process import PATIENCE
from tests.support.cluster import USER, Node, cluster
from tests.support.eventually import eventually

from holdfast.core.errors import EngineRefused, HoldfastError
from holdfast.store import NewEvent, open_store

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(PROGRAM is None, reason="NOT RUN: poolers need PgBouncer (scripts/pgbouncer-here)"),
]
SETTINGS = """[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
admin_users = postgres
pool_mode = {mode}
max_client_conn = 200
default_pool_size = 60
{more}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Node]:
    with cluster() as servers:
        yield servers.primary()


@contextmanager
def pgbouncer(server: Node, mode: str, more: str = "") -> Iterator[str]:
    """The URL of the server through a PgBouncer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = server.folder.parent
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(
        SETTINGS.format(server=server.port, port=port, folder=folder, mode=mode, more=more)
    )
    user = {"user": USER} if os.getuid() == 0 else {}
    with (folder / "pgbouncer.log").open("w") as log:
        command = [str(PROGRAM), str(folder / "pgbouncer.ini")]
        with subprocess.Popen(command, stdout=log, stderr=log, **user) as process:  # type: ignore[call-overload]
            try:
                url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
                for _ in range(int(PATIENCE / 0.1)):
                    try:
                        psycopg.connect(url, connect_timeout=2).close()
                        break
                    except psycopg.OperationalError:
                        assert process.poll() is None, (folder / "pgbouncer.log").read_text()
                yield url
            finally:
                process.terminate()


async def test_session_mode_works(server: Node) -> None:
    with pgbouncer(server, "session") as url:
        async with asyncio.timeout(PATIENCE), await open_store(url) as one, await open_store(url) as two:
            for number in range(10):
                await asyncio.gather(*(one.append(f"s{n}", [NewEvent("n", {"n": number})]) for n in range(8)))
            assert [event.seq for event in await two.read("s0")] == list(range(1, 11))


@pytest.mark.parametrize("more", ["", "server_round_robin = 1"])
@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_transaction_mode_is_refused_with_a_hint(server: Node, mode: str, more: str) -> None:
    with pgbouncer(server, mode, more) as url:
        for _ in range(5):
            with pytest.raises(EngineRefused, match="transaction mode") as refused:
                await open_store(url)
        assert "session" in str(refused.value.hint)


async def test_a_pooler_that_is_set_to_transaction_mode_later_is_refused(server: Node) -> None:
    with pgbouncer(server, "session") as url:
        async with asyncio.timeout(2 * PATIENCE), await open_store(url) as store:
            await store.append("later", [NewEvent("n", {})])
            admin = url.removesuffix("postgres") + "pgbouncer"
            settings = server.folder.parent / "pgbouncer.ini"
            settings.write_text(settings.read_text().replace("pool_mode = session", "pool_mode = transaction"))
            with psycopg.connect(admin, autocommit=True, prepare_threshold=None) as connection:
                connection.execute("RELOAD")
            await asyncio.to_thread(
                server.sql,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
            )

            async def is_refused() -> bool:
                with pytest.raises(HoldfastError) as refused:  # no read passes, whatever is said of it
                    await store.read("later")
                assert refused.value.status == 503
                return "transaction mode" in str(refused.value)

            for _ in range(3):  # the pooler gives away a session or two that were ended
                await eventually(is_refused)
            store.let_go()
