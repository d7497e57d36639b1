"""What must hold after every step: each assertion fails by itself when exactly that is broken, else none does.

A real gateway answers a turn; then its rows, files or log are changed behind its back.
"""

import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.gateway.process import Running, running

from holdfast.core import SystemClock
from holdfast.prove.evidence import Evidence
from holdfast.prove.live import after_step
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.live.database import SqliteDatabase
from holdfast.prove.live.log_scan import LogScan
from holdfast.prove.live.stage import LiveStage
from holdfast.prove.live.steps.chat import CHAT
from holdfast.prove.live.steps.identity import IDENTITY
from holdfast.prove.wire.credentials import NO_CREDENTIALS

NEIGHBOUR = "agent:main:neighbour"


@dataclass
class Scene:
    """A stage after its first turn, and how to change what is under it."""

    stage: LiveStage
    data: Path
    undo: ExitStack

    def sql(self, statement: str, *values: object) -> None:
        """Change rows behind the gateway's back."""
        with sqlite3.connect(self.data / "holdfast.db", timeout=10) as database:
            database.execute(statement, values)
        database.close()

    def of_proof(self, change: str) -> None:
        """Change the row of the proof's session."""
        self.sql(f"UPDATE sessions SET {change} WHERE session_id = ?", self.stage.key)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    data = tmp_path_factory.mktemp("data")
    folder = data / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "old.jsonl").write_text("{}\n")
    with running(data) as made:
        yield made, data


@pytest.fixture
async def scene(gateway: tuple[Running, Path], tmp_path: Path) -> AsyncIterator[Scene]:
    made, data = gateway
    evidence = Evidence(tmp_path, time.monotonic)
    api = GatewayApi(made.url, evidence, credentials=NO_CREDENTIALS, tenant=None, within=30)
    with ExitStack() as undo:
        async with api:
            stage = LiveStage(
                api=api,
                database=SqliteDatabase(data / "holdfast.db"),
                evidence=evidence,
                log=LogScan(()),
                agent="main",
                key=f"agent:main:live-proof:{time.monotonic_ns()}",
                legacy=data,
                data=data,
                pid=made.process.pid,
                version="",
                started_at=SystemClock().now(),
                alone=True,
            )
            await stage.say(NEIGHBOUR, "Hello.")
            await stage.log.begin(api)
            stage.look_around()
            await CHAT.perform(stage)
            assert [str(each) for each in await after_step.judge(stage, CHAT)] == []
            stage.neighbours = [NEIGHBOUR]
            with stage.database.look() as look:
                stage.seen.neighbours = stage.neighbour_rows(look)
            yield Scene(stage, data, undo)
    evidence.close()


def touched(scene: Scene) -> None:
    os.utime(scene.data / "agents" / "main" / "sessions" / "old.jsonl")


def written_beside(scene: Scene) -> None:
    (scene.data / f"{scene.stage.key.replace(':', '_')}.jsonl").write_text("{}\n")


def logged(scene: Scene) -> None:
    with (scene.data / "logs" / "gateway.log").open("ab") as file:
        file.write(b'{"level":"error","logger":"x","message":"y"}\n')


def held(scene: Scene) -> None:
    """This process is taken for the gateway: it has the database open, and a legacy file."""
    names = ("holdfast.db", "holdfast.db-wal", "holdfast.db-shm", "agents/main/sessions/old.jsonl")
    for name in names:
        # Never closed: that would let go of the locks that a reader in this process has.
        os.open(scene.data / name, os.O_RDONLY)
    scene.stage.pid = os.getpid()


def not_held(scene: Scene) -> None:
    scene.stage.pid = os.getppid()


def routed_elsewhere(scene: Scene) -> None:
    scene.sql(
        "INSERT INTO session_routes SELECT tenant, 'stray', session_no, 1, NULL FROM session_routes WHERE key = ?",
        NEIGHBOUR,
    )
    scene.undo.callback(scene.sql, "DELETE FROM session_routes WHERE key = 'stray'")


def neighbour_leaving(scene: Scene) -> None:
    """Somebody deleted it: its last event is there, and its row goes on changing while its log moves to the archive."""
    scene.sql("UPDATE sessions SET life = 'gone', size_bytes = 0 WHERE session_id = ?", NEIGHBOUR)
    scene.undo.callback(scene.sql, "UPDATE sessions SET life = 'live' WHERE session_id = ?", NEIGHBOUR)


def payload_changed(scene: Scene) -> None:
    """A message is not what was written: the gateway tells no history, whatever it was."""
    scene.sql(
        "UPDATE transcript_events SET payload = CAST(replace(payload, 'user', 'USER') AS BLOB) WHERE seq = 1 "
        "AND session_no = (SELECT session_no FROM sessions WHERE session_id = ?)",
        scene.stage.key,
    )


TAIL = "history equals the transcript's tail"
ROW = "the row of the proof's session"
BREAKS: list[tuple[Callable[[Scene], None], set[str]]] = [
    (lambda scene: None, set()),
    (lambda scene: scene.of_proof("status = 'failed'"), {ROW}),
    (lambda scene: scene.of_proof("updated_at = updated_at + 1"), {ROW}),
    (lambda scene: scene.of_proof("created_at = 1"), {ROW}),
    (lambda scene: scene.of_proof("agent = 'other'"), {ROW}),
    (lambda scene: scene.of_proof("head_seq = head_seq + 1"), {ROW, TAIL}),
    (lambda scene: scene.of_proof("head_hash = x'00'"), {ROW}),
    (lambda scene: scene.of_proof("""document = CAST('{"metadata":{"a":1}}' AS BLOB)"""), {ROW}),
    (lambda scene: scene.sql("UPDATE session_routes SET ended_at = 1 WHERE key = ?", scene.stage.key), {ROW}),
    (routed_elsewhere, {"rows advance only where expected"}),
    (
        lambda scene: scene.sql("UPDATE sessions SET updated_at = updated_at + 1 WHERE session_id = ?", NEIGHBOUR),
        {"other sessions unchanged"},
    ),
    (neighbour_leaving, set()),
    (payload_changed, {TAIL}),
    (written_beside, {"no proof-session JSONL"}),
    (touched, {"legacy files unchanged"}),
    (held, {"no hot legacy handle"}),
    (not_held, {"open files"}),
    (logged, {"log scan"}),
]


@pytest.mark.parametrize(("breaks", "expected"), BREAKS)
async def test_each_assertion_fails_when_exactly_that_is_broken(
    scene: Scene, breaks: Callable[[Scene], None], expected: set[str]
) -> None:
    breaks(scene)
    broken: list[ClaimBroken] = await after_step.judge(scene.stage, IDENTITY)
    assert {each.assertion for each in broken} == expected, [str(each) for each in broken]
    scene.stage.pid = int((await scene.stage.api.must("status", "GET", "/api/status"))["pid"])
    again = {each.assertion for each in await after_step.judge(scene.stage, IDENTITY)}
    assert again <= {ROW, TAIL} & expected
