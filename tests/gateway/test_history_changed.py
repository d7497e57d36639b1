"""Whoever follows a gateway whose database fails over is told why the feed ends, whatever carries it."""

import asyncio
import json

import pytest
from tests.cli.command import argv
from tests.gateway.event_stream import following
from tests.gateway.process import PATIENCE, served
from tests.support.cluster import crashing_server
from tests.support.processes import environment
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from holdfast.core.errors import HoldfastError
from holdfast.store import NewEvent, open_store


async def test_a_failover_ends_live_feeds_with_a_reason() -> None:
    with crashing_server() as cluster:
        async with await open_store(cluster.new_database("store")) as store, served(store) as here:
            await store.append("s", [NewEvent("note", {})])
            standby = cluster.copy()
            await store.append("s", [NewEvent("note", {})])
            http = f"http://127.0.0.1:{here.port}"
            tail = await asyncio.create_subprocess_exec(
                *argv("sessions", "tail", "s", "--json", "--url", http),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment(),
            )
            async with (
                asyncio.timeout(PATIENCE),
                connect(here.live, proxy=None) as everything,
                connect(f"{here.live}?session=s&after=2", proxy=None) as session,
                following(f"{http}/api/feed") as stream,
            ):
                cursor = json.loads(await everything.recv())["cursor"]
                await session.recv()
                await stream.next()
                assert tail.stdout is not None
                await tail.stdout.readline()
                while here.gateway.connections().total_connections < 4:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.2)  # for each to have looked once
                cluster.crash()
                standby.start()
                while True:
                    try:
                        await store.append("s", [NewEvent("note", {})], expected_seq=1)
                        break
                    except HoldfastError:
                        await asyncio.sleep(0.05)
                for live in (everything, session):
                    with pytest.raises(ConnectionClosed):
                        await live.recv()
                    assert live.close_code == 4409 and live.close_reason
                last = await stream.next()
                assert last is not None and (last.event, last.data["code"]) == ("error", "history_changed")
                out, err = await tail.communicate()
                assert tail.returncode == 2 and json.loads(out.splitlines()[-1])["code"] == "history_changed"
                assert b"read the sessions again" in err
            async with following(f"{http}/api/feed?cursor={cursor}") as refused:
                assert refused.answer.status_code == 409
                assert json.loads(await refused.answer.aread())["code"] == "history_changed"
