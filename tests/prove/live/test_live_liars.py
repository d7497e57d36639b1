"""Gateways whose answers have another shape than the API's: a verdict each, never a crash, and never proven."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.process import Running, running
from tests.prove.live.live_prover import prove_live
from tests.prove.live.live_stage import stage_on
from tests.support.scripted_server import Answer, endpoint

from holdfast import __version__
from holdfast.core import strict_json
from holdfast.prove.evidence import Evidence
from holdfast.prove.live.api import ApiAnswer, GatewayApi
from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.live.log_scan import PAGE
from holdfast.prove.live.run import perform
from holdfast.prove.wire.credentials import NO_CREDENTIALS

ASKED = (
    *("a turn", "the history", "sessions of others", "a session", "the key", "a patch", "the session", "a checkpoint"),
    *("the checkpoints", "an event after it", "a branch", "a restore", "a backup", "the log since then"),
    "a deletion",
)
WRONG: dict[str, Any] = {
    **dict.fromkeys(("sessionId", "checkpointId", "messages", "checkpoints", "routes", "lines", "sessions"), 5),
    **{name: [{"a": None}] for name in ("metadata", "state", "cursor", "truncated", "seq")},
    "status": "completed",
    "text": 7,
}


class LyingApi(GatewayApi):
    """Tells something else than the gateway, once something is asked."""

    lie: str = ""
    document: dict[str, Any]

    async def ask(self, what: str, method: str, path: str, body: Any = None, **query: Any) -> ApiAnswer:
        answer = await super().ask(what, method, path, body, **query)
        if what != self.lie:
            return answer
        raw = strict_json.encode(self.document)
        return ApiAnswer(200, self.document, raw)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    data = tmp_path_factory.mktemp("data")
    with running(data) as made:
        yield made, data


@pytest.mark.parametrize("document", [{}, WRONG], ids=["empty", "wrong"])
async def test_an_answer_of_another_shape_is_never_proven_and_never_a_crash(
    gateway: tuple[Running, Path], document: Any, tmp_path: Path
) -> None:
    made, data = gateway
    evidence = Evidence(tmp_path, time.monotonic)
    proven = []
    for lie in ASKED:
        api = LyingApi(made.url, evidence, credentials=NO_CREDENTIALS, tenant=None, within=30)
        async with api:
            stage = await stage_on(made, data, evidence, api)
            api.lie, api.document = lie, document
            result = await perform(stage, evidence, keep=False, on_step=lambda step: None)
        if all(each.finding.verdict == "proven" for each in result.outcomes):
            proven.append(lie)
    evidence.close()
    assert set(proven) <= {"an event after it", "a deletion"}, "of these the proof needs no member, and sees the rows"


async def test_a_log_that_never_ends_is_not_read_for_ever(gateway: tuple[Running, Path], tmp_path: Path) -> None:
    made, data = gateway
    evidence = Evidence(tmp_path, time.monotonic)
    api = LyingApi(made.url, evidence, credentials=NO_CREDENTIALS, tenant=None, within=30)
    async with api:
        stage = await stage_on(made, data, evidence, api)
        api.lie = "the log since then"
        api.document = {"cursor": stage.log.cursor, "truncated": False, "lines": [{"level": "info"}] * PAGE}
        with pytest.raises(ClaimBroken, match="does not go on"):
            await stage.log.read_on(api, "chat")
    evidence.close()


@pytest.mark.parametrize(
    "status",
    [
        {"pid": "x", "store": "sqlite:///x.db", "dataFolder": "/nowhere", "logFile": "/x", "agents": ["main"]},
        {"pid": 1, "store": 5, "dataFolder": 7, "logFile": 8, "agents": ["main"]},
        {"pid": 1, "store": "sqlite:///x.db", "dataFolder": "\0", "logFile": "/x"},
        {"pid": 1, "store": "nothing://", "dataFolder": "/nowhere", "logFile": "/x", "agents": 3},
        {"pid": 2**70, "store": "sqlite:////etc/passwd", "dataFolder": "/nowhere", "logFile": "/x", "agents": ["main"]},
    ],
)
def test_a_status_that_makes_no_sense_ends_in_the_preflight(status: dict[str, Any], tmp_path: Path) -> None:
    health = Answer(strict_json.encode({"status": "ok", "version": __version__}))
    told = Answer(strict_json.encode({"version": __version__, "storeId": "x", **status}))
    with endpoint(health, health, *[told] * 8) as server:
        done = prove_live("--url", f"http://127.0.0.1:{server.port}", artifacts=tmp_path)
    assert done.exit_code in (1, 2), done.stderr
    assert {step["verdict"] for step in done.summary["proofs"]} == {"not reached"}


async def test_without_a_backup_nothing_is_deleted(gateway: tuple[Running, Path], tmp_path: Path) -> None:
    made, data = gateway
    evidence = Evidence(tmp_path, time.monotonic)
    api = LyingApi(made.url, evidence, credentials=NO_CREDENTIALS, tenant=None, within=30)
    async with api:
        stage = await stage_on(made, data, evidence, api)
        api.lie, api.document = "a backup", {}
        result = await perform(stage, evidence, keep=False, on_step=lambda step: None)
    evidence.close()
    assert result.outcomes[-1].finding.reason.startswith("a fresh backup")
    assert {stage.row(session_id)["life"] for session_id in stage.sessions} == {"live"}
