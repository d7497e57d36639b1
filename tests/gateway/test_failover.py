"""A primary, a standby and a promotion under load, with real gateways: what docs/postgresql.md says is kept is kept."""

import asyncio
import itertools
import json
import signal
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from tests.gateway.process import Running, running
from tests.support.cluster import Cluster, Node, cluster
from tests.support.eventually import eventually
from tests.support.web import async_web_client

from holdfast.core.errors import EngineRefused, HoldfastError, StoreUnavailable
from holdfast.gateway.operations import timers
from holdfast.gateway.operations.timers import ServedStore, Timers
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.backup.backup import back_up, restore
from holdfast.store.backup.backup_process import BackupFailed, BackupJob, back_up_apart
from holdfast.store.postgres.server import KnownServer, ServerIdentity

WRITERS = 6
ENOUGH = 60
"""Acknowledgements that are waited for before the run goes on."""
RETRY = frozenset({502, 503, 504})


@pytest.fixture
def servers() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@dataclass(frozen=True, slots=True)
class Ack:
    """A write that was acknowledged; `promoted` if it was sent after the promotion."""

    session: str
    key: str
    seq: int
    promoted: bool


@dataclass(slots=True)
class Load:
    """Writers that send each write again, with its key, until it is acknowledged."""

    gateways: list[Running]
    client: httpx2.AsyncClient
    acks: list[Ack] = field(default_factory=list)
    promoted: bool = False
    ended: bool = False
    refused: list[str] = field(default_factory=list)

    async def write(self, number: int) -> None:
        session = f"s{number}"
        for step in itertools.count():
            for attempt in itertools.count(number):
                if self.ended:
                    return
                promoted = self.promoted
                body = {"type": "n", "details": {"step": step}, "idempotencyKey": f"{number}-{step}"}
                gateway = self.gateways[attempt % len(self.gateways)]
                answer = await self.client.post(f"{gateway.url}/api/actions/{session}", json=body)
                if answer.status_code in {200, 201}:
                    self.acks.append(Ack(session, f"{number}-{step}", answer.json()["seq"], promoted))
                    break
                assert answer.status_code in RETRY, answer.text
                self.refused.append(answer.text)
                await asyncio.sleep(0.05)

    async def more(self, count: int = ENOUGH) -> None:
        """Return once so many more were acknowledged."""
        goal = len(self.acks) + count
        await eventually(lambda: _true(len(self.acks) >= goal))

    async def more_after_the_promotion(self) -> None:
        """Return once as many were acknowledged of those that were sent after the promotion."""
        await eventually(lambda: _true(sum(ack.promoted for ack in self.acks) >= ENOUGH))


@asynccontextmanager
async def loaded(gateways: list[Running]) -> AsyncIterator[Load]:
    """Writers at work."""
    async with async_web_client() as client:
        load = Load(gateways, client)
        async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
            for number in range(WRITERS):
                tasks.create_task(load.write(number))
            try:
                yield load
            finally:
                load.ended = True


async def _true(value: bool) -> bool:
    return value


async def told(gateway: Running, load: Load) -> dict[tuple[str, str], int]:
    """Every event of the load's sessions as a gateway shows them: (session, key) to seq; each key once, no gap."""
    found: dict[tuple[str, str], int] = {}
    for number in range(WRITERS):
        session, after = f"s{number}", 0
        while True:
            path = f"{gateway.url}/api/actions/{session}?after={after}&limit=1000"
            page = (await load.client.get(path)).json()["actions"]
            for entry in page:
                assert entry["seq"] == after + 1
                after = entry["seq"]
                key = (session, f"{number}-{entry['details']['step']}")
                assert key not in found, "doubled"
                found[key] = after
            if not page:
                break
    return found


async def verified(gateway: Running, client: httpx2.AsyncClient) -> None:
    body = {"sessions": [f"s{number}" for number in range(WRITERS)]}
    answer = (await client.post(f"{gateway.url}/api/verify", json=body)).text.splitlines()
    assert '"bad":0' in answer[-1].replace(" ", ""), answer[-3:]


def hosts(*nodes: Node) -> str:
    return f"postgresql://postgres@{','.join(node.address for node in nodes)}/postgres"


def start_two(stack: ExitStack, tmp_path: Path, url: str) -> list[Running]:
    return [stack.enter_context(running(tmp_path / name, "--store", url)) for name in ("one", "two")]


def rejects(node: Node) -> bool:
    """Whether it lets nobody in any more."""
    try:
        node.sql("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def has_an_event(node: Node) -> bool:
    """Whether it has come as far as the first event; a standby that is behind may not even have the table."""
    try:
        return node.sql("SELECT count(*) FROM transcript_events") == [(1,)]
    except psycopg.errors.UndefinedTable:
        return False


async def in_thread(run: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.to_thread(run, *arguments)


@pytest.mark.long
@pytest.mark.parametrize("end", ["crash", "silence"])
async def test_with_a_synchronous_standby_nothing_acknowledged_is_lost(
    servers: Cluster, tmp_path: Path, end: str
) -> None:
    primary = servers.primary()
    standby = servers.standby(primary)
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()")
    with ExitStack() as stack:
        gateways = start_two(stack, tmp_path, hosts(primary, standby))
        async with loaded(gateways) as load:
            await load.more()
            if end == "crash":
                await in_thread(primary.stop, "immediate")
            else:
                await in_thread(primary.signal, signal.SIGSTOP)
            await in_thread(standby.promote)
            load.promoted = True
            await load.more_after_the_promotion()
        async with async_web_client() as load.client:
            for gateway in gateways:
                found = await told(gateway, load)
                assert {(ack.session, ack.key): ack.seq for ack in load.acks}.items() <= found.items()
                await verified(gateway, load.client)
                assert (await load.client.get(f"{gateway.url}/readyz")).status_code == 200


@pytest.mark.long
async def test_with_an_asynchronous_standby_only_what_had_not_reached_it_is_lost(
    servers: Cluster, tmp_path: Path
) -> None:
    primary = servers.primary()
    standby = servers.standby(primary)
    with ExitStack() as stack:
        gateways = start_two(stack, tmp_path, hosts(primary, standby))
        async with loaded(gateways) as load:
            await load.more()
            reached = list(load.acks)
            ((place,),) = await in_thread(primary.sql, "SELECT pg_current_wal_lsn()::text")

            async def replicated() -> bool:
                question = f"SELECT flush_lsn >= '{place}'::pg_lsn FROM pg_stat_replication"
                return bool(await in_thread(primary.sql, question) == [(True,)])

            await eventually(replicated)
            await in_thread(standby.stop)
            await load.more()
            await in_thread(primary.stop, "immediate")
            await in_thread(standby.start)

            async def refused() -> bool:
                answer = await load.client.get(f"{gateways[0].url}/api/actions/s0")
                assert answer.status_code == 503, "a standby was read"
                return "standby" in answer.text

            await eventually(refused)
            await in_thread(standby.promote)
            load.promoted = True
            await load.more_after_the_promotion()
        async with async_web_client() as load.client:
            found = await told(gateways[0], load)
            assert found == await told(gateways[1], load)
            kept = [*reached, *(ack for ack in load.acks if ack.promoted)]
            assert {(ack.session, ack.key): ack.seq for ack in kept}.items() <= found.items()
            lost = [ack for ack in load.acks if (ack.session, ack.key) not in found]
            assert lost, "everything had reached the standby: the run proved nothing"
            await verified(gateways[0], load.client)


@pytest.mark.long
async def test_a_former_primary_that_comes_back_is_not_followed(servers: Cluster, tmp_path: Path) -> None:
    primary = servers.primary()
    standby = servers.standby(primary)
    with ExitStack() as stack:
        gateways = start_two(stack, tmp_path, hosts(primary, standby))
        async with loaded(gateways) as load:
            await load.more()
            await in_thread(primary.stop, "immediate")
            await in_thread(standby.promote)
            load.promoted = True
            await load.more_after_the_promotion()
            (primary.folder / "standby.signal").unlink(missing_ok=True)
            await in_thread(primary.start)
            ((events,),) = primary.sql("SELECT count(*) FROM transcript_events")
            for _ in range(3):
                standby.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                )
                await load.more()
            for gateway in gateways:
                answer = await load.client.get(f"{gateway.url}/readyz")
                assert answer.status_code == 200, answer.text
        assert primary.sql("SELECT count(*) FROM transcript_events") == [(events,)]
        standby.stop("immediate")
        async with async_web_client() as client:

            async def refused() -> bool:
                answer = await client.get(f"{gateways[0].url}/api/actions/s0")
                assert answer.status_code == 503, "a former primary was read"
                return "former primary" in answer.text

            await eventually(refused)


@pytest.mark.long
async def test_connections_to_a_former_primary_are_cut_once_the_new_one_is_seen(servers: Cluster) -> None:
    """Both run, and nobody fenced the old one: whoever has seen the newer history writes nothing to the older."""
    primary = servers.primary()
    standby = servers.standby(primary)
    async with await open_store(hosts(primary, standby)) as store:
        await store.append("s", [NewEvent("n", {"n": 1})])
        await eventually(lambda: in_thread(has_an_event, standby))
        await in_thread(standby.promote)
        access = primary.folder / "pg_hba.conf"
        before = access.read_text()
        access.write_text("host all all all reject\n")
        await in_thread(primary.sql, "SELECT pg_reload_conf()")
        await eventually(lambda: in_thread(rejects, primary))
        await in_thread(store.engine.figures)  # the first time it asks, it connects
        await asyncio.gather(*(store.append(f"s{n}", [NewEvent("n", {})]) for n in range(8)))
        assert await store.sessions.list()
        access.write_text(before)
        await in_thread(primary.run, "pg_ctl", "-D", str(primary.folder), "reload")

        async def admitted() -> bool:
            try:
                return bool(await in_thread(primary.sql, "SELECT count(*) FROM transcript_events") == [(1,)])
            except psycopg.OperationalError:
                return False

        await eventually(admitted)
        assert standby.sql("SELECT count(*) FROM transcript_events") == [(9,)]


@pytest.mark.long
async def test_a_standby_alone_is_refused(servers: Cluster) -> None:
    primary = servers.primary()
    async with await open_store(primary.url()):
        pass
    standby = servers.standby(primary)
    for read_only in (False, True):
        with pytest.raises(EngineRefused, match="standby") as refused:
            await open_store(standby.url(), read_only=read_only)
        assert "promote" in str(refused.value.hint)


@asynccontextmanager
async def unfenced(servers: Cluster) -> AsyncIterator[tuple[Store, Node, Node]]:
    """A store that has seen a promotion, its former primary, which is back as if nothing had been, and the new one."""
    former = servers.primary()
    new = servers.standby(former)
    async with await open_store(hosts(former, new)) as store:
        await store.append("s", [NewEvent("n", {"n": 1})])
        await eventually(lambda: in_thread(has_an_event, new))
        await in_thread(former.stop, "immediate")
        await in_thread(new.promote)
        await store.append("s", [NewEvent("n", {"n": 2})])
        await in_thread(former.start)
        yield store, former, new


def events_in(backup: Path) -> int:
    """How many events a backup has."""
    with zipfile.ZipFile(backup) as archive:
        tables = json.loads(archive.read("manifest.json"))["tables"]
    return sum(table["rows"] for table in tables if table["table"] == "transcript_events")


@pytest.mark.long
async def test_a_backup_is_never_of_a_former_primary(servers: Cluster, tmp_path: Path) -> None:
    async with unfenced(servers) as (store, _, new):
        made = await back_up(store, tmp_path / "whole")
        assert events_in(made.path) == 2
        await in_thread(new.stop, "immediate")
        with pytest.raises(StoreUnavailable, match="former primary"):
            await store.copy_to(tmp_path / "copy", lambda _done, _of: None)


@pytest.mark.long
async def test_a_timers_backup_knows_what_the_gateway_has_seen(servers: Cluster, tmp_path: Path) -> None:
    """Its process has seen nothing itself, and the former primary is the first host of the URL."""
    options = Timers(backup_every_ms=60_000, backup_folder=tmp_path / "backups")
    async with unfenced(servers) as (store, former, new):
        url, stopping = hosts(former, new), asyncio.Event()
        async with timers.running(options, ServedStore(store, url, False), tmp_path, stopping) as (timer,):
            await eventually(lambda: _true(timer.last_success is not None or timer.failures > 0))
            assert timer.failure is None
        [made] = (tmp_path / "backups").iterdir()
        assert events_in(made) == 2
        await in_thread(new.stop, "immediate")
        with pytest.raises(BackupFailed, match="former primary"):
            await back_up_apart(BackupJob(url, tmp_path / "apart", store.engine.seen()), asyncio.Event())
    assert [path.name for path in tmp_path.iterdir()] == ["backups"]


@pytest.mark.long
async def test_a_standby_is_neither_backed_up_nor_restored_into(servers: Cluster, tmp_path: Path) -> None:
    primary = servers.primary()
    async with await open_store(primary.url()) as store:
        await back_up(store, tmp_path / "backup")
        standby = servers.standby(primary)
        await in_thread(primary.stop, "immediate")
        with pytest.raises(StoreUnavailable, match="standby"):
            await restore(tmp_path / "backup", standby.url())
        with pytest.raises(BackupFailed, match="standby"):
            await back_up_apart(BackupJob(standby.url(), tmp_path / "apart"), asyncio.Event())
    assert [path.name for path in tmp_path.iterdir()] == ["backup"]


@pytest.mark.parametrize("seen", [None, ("a", 1)], ids=["nothing was seen", "another process has seen it"])
def test_only_the_newest_history_of_one_cluster_is_accepted(seen: tuple[str, int] | None) -> None:
    known = KnownServer(seen)
    for timeline in (1, 1, 3):
        known.accept(ServerIdentity("a", timeline))
    for other in (ServerIdentity("a", 2), ServerIdentity("b", 9)):
        with pytest.raises(HoldfastError):
            known.accept(other)
    assert known.identity == ServerIdentity("a", 3)
