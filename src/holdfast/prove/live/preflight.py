"""Before any turn is sent: does the gateway run, is that its database, does it leave legacy files alone?"""

from pathlib import Path
from typing import Any, ClassVar

from holdfast import __version__
from holdfast.core import HoldfastError
from holdfast.prove.evidence import Evidence
from holdfast.prove.live import after_step, legacy_files, proof_rows
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.claims import well_formed
from holdfast.prove.live.database import open_database
from holdfast.prove.live.log_scan import LogScan, patterns
from holdfast.prove.live.options import LiveOptions
from holdfast.prove.live.stage import GatewayPower, LiveStage

NAME = "preflight"
CLAIM = "the gateway runs, its database and process can be seen from here, and it holds no legacy file"


class PreflightFailed(HoldfastError):
    """The proof cannot begin: nothing was sent, and nothing can be said of the gateway."""

    code: ClassVar[str] = "preflight_failed"
    status: ClassVar[int] = 503


async def prepare(
    options: LiveOptions,
    api: GatewayApi,
    evidence: Evidence,
    *,
    key: str,
    started_at: int,
    power: GatewayPower | None = None,
) -> LiveStage:
    """The stage of a run on a gateway that is fit for it; PreflightFailed or ClaimBroken if it is not."""
    with well_formed():
        return await _prepare(options, api, evidence, key=key, started_at=started_at, power=power)


async def _prepare(
    options: LiveOptions,
    api: GatewayApi,
    evidence: Evidence,
    *,
    key: str,
    started_at: int,
    power: GatewayPower | None,
) -> LiveStage:
    api.step = NAME
    await _check_health(api)
    status = await _status(api, options.agent)
    database = open_database(options.store or str(status["store"]))
    data = Path(status["dataFolder"])
    log = LogScan(patterns(options.allow_log))
    await log.begin(api)
    stage = LiveStage(
        api=api,
        database=database,
        evidence=evidence,
        log=log,
        agent=options.agent,
        key=key,
        legacy=options.legacy or data,
        data=data,
        pid=int(status["pid"]),
        version=str(status["version"]),
        started_at=started_at,
        store=str(status["store"]),
        mirror=Path(status["files"]["folder"]) if status.get("files") else None,
        alone=options.alone or options.isolated,
        power=power,
        may_interrupt=options.recovery,
    )
    _check_rows(stage, status)
    if legacy_files.open_files(stage.pid) is None:
        raise PreflightFailed(
            f"the gateway's process {stage.pid} cannot be looked at from here",
            hint="run the proof on the gateway's machine, as its user",
        )
    opened = after_step.check_handles(stage)
    stage.look_around()
    stage.note(
        "the gateway",
        version=stage.version,
        engine=f"{status['engine']} {status['engineVersion']}",
        pid=stage.pid,
        rows=stage.seen.total,
        openFiles=len(opened),
        legacyFiles=len(stage.seen.legacy),
        logCursor=log.began,
    )
    return stage


async def _check_health(api: GatewayApi) -> None:
    health = await api.ask("health", "GET", "/health")
    if health.status != 200 or health.document.get("status") != "ok":
        raise PreflightFailed(f"{api.url}/health says {health.status}", hint="see --url, or start `holdfast serve`")
    if health.document.get("version") != __version__:
        raise PreflightFailed(
            f"the gateway is version {health.document.get('version')}, and this command is {__version__}",
            hint="use the command of the gateway's own version, or restart the gateway after an upgrade",
        )
    ready = await api.ask("deep status", "GET", "/readyz")
    if ready.status != 200:
        raise PreflightFailed(
            f"the gateway is not ready: {ready.document.get('detail', ready.status)}",
            hint=str(ready.document.get("hint") or "see its log"),
        )


async def _status(api: GatewayApi, agent: str) -> dict[str, Any]:
    status = await api.must("status", "GET", "/api/status")
    lacking = [name for name in ("pid", "store", "dataFolder", "logFile") if status.get(name) is None]
    if lacking:
        raise PreflightFailed(
            f"the gateway does not tell its {', '.join(lacking)}",
            hint="HOLDFAST_TOKEN must be a token with the scope operator",
        )
    if agent not in status["agents"]:
        raise PreflightFailed(f"the gateway has no agent {agent!r}", hint=f"--agent {' or '.join(status['agents'])}")
    return status


def _check_rows(stage: LiveStage, status: dict[str, Any]) -> None:
    """See that this is the gateway's own database, and that the key is new."""
    with stage.database.look() as look:
        meta = {row["key"]: row["value"] for row in look.rows("SELECT key, value FROM schema_meta")}
        used = proof_rows.numbers_of(look, stage.keys, [stage.key])
    if meta.get("store_id") != status["storeId"]:
        raise PreflightFailed("the database that was read is not the gateway's", hint="see --store")
    if used:
        raise PreflightFailed(
            f"the session key {stage.key} was used before",
            hint="each run has a key of its own: leave out --session-key",
        )
