"""A stage of the live proof on a gateway of the test's own, as the preflight would make it."""

import time
from pathlib import Path

from tests.gateway.process import Running

from holdfast.core import SystemClock
from holdfast.prove.evidence import Evidence
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.database import SqliteDatabase
from holdfast.prove.live.log_scan import LogScan
from holdfast.prove.live.stage import LiveStage


async def stage_on(
    made: Running, data: Path, evidence: Evidence, api: GatewayApi, of: type[LiveStage] = LiveStage, key: str = ""
) -> LiveStage:
    """A stage that has looked around, with a key of its own."""
    stage = of(
        api=api,
        database=SqliteDatabase(data / "holdfast.db"),
        evidence=evidence,
        log=LogScan(()),
        agent="main",
        key=key or f"agent:main:live-proof:{time.monotonic_ns()}",
        legacy=data,
        data=data,
        pid=made.process.pid,
        version="",
        started_at=SystemClock().now(),
        alone=True,
    )
    await stage.log.begin(api)
    stage.look_around()
    return stage
