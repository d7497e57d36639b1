"""The bundled runtime is proven, and never sees the user's own settings: the proof writes and kills."""

import sqlite3
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.prove.prover import Proved, prove, prove_as_fork
from tests.support.next_version import next_version
from tests.support.postgres import Server

from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.targets.bundled import bundled

LEFT_OUT = {"upgrade"}
"""No next version of it is named: this version is none of itself."""
PROVABLE = [name for name in catalogue() if name not in LEFT_OUT]


def test_the_settings_of_the_user_do_not_reach_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", "postgresql://production/")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://costs.money/")
    launch = bundled(tmp_path, 4321, store=None)
    assert not {"HOLDFAST_STORE", "OPENAI_BASE_URL"} & set(launch.environment)
    assert "PATH" in launch.environment
    assert launch.folder == tmp_path
    assert launch.workspace == tmp_path / "workspace"
    assert launch.command[1:] == (
        *("-P", "-m", "holdfast", "serve", "--host", "127.0.0.1"),
        *("--port", "4321", "--data", str(tmp_path), "--compact-at", "1000", "--a2a-card", "both"),
    )


@pytest.fixture(scope="module")
def runs(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[Proved]]:
    """The whole catalogue on both engines, side by side, each over another version of the protocol."""
    arguments = {
        "sqlite": ("--wire", "1.0"),
        "postgresql": ("--wire", "0.3", "--store", postgres.new_database()),
    }
    with ThreadPoolExecutor() as pool:
        return {
            engine: pool.submit(prove_as_fork, "--json", *given, artifacts=tmp_path_factory.mktemp(engine))
            for engine, given in arguments.items()
        }


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_the_bundled_runtime_is_proven(runs: dict[str, Future[Proved]], engine: str) -> None:
    proved = runs[engine].result()
    assert proved.verdicts() == dict.fromkeys(PROVABLE, "proven")
    assert set(proved.summary["left_out"]) == LEFT_OUT
    assert proved.exit_code == 0


def test_what_restarts_it_shares_the_restarts(runs: dict[str, Future[Proved]]) -> None:
    # One start at first, one after the SIGTERM and the SIGKILL that are shared, three for *restart* and *crash* alone.
    assert len(runs["sqlite"].result().summary["logs"]) == 6


def test_the_long_conversation_was_compacted(runs: dict[str, Future[Proved]]) -> None:
    database = Path(runs["sqlite"].result().summary["evidence"]) / "data" / "holdfast.db"
    with closing(sqlite3.connect(database)) as store:
        rows = store.execute("SELECT CAST(document AS TEXT) FROM checkpoints").fetchall()
    assert sum("before compaction" in document for (document,) in rows) > 1


def test_its_next_version_knows_what_it_was_told(tmp_path: Path) -> None:
    number = next_version(tmp_path / "next", "sqlite")
    line = f"env PYTHONPATH={tmp_path / 'next'} {sys.executable} -P -m holdfast serve --data {{data}} --port {{port}}"
    proved = prove("--only", "upgrade", "--next-command", line, "--json", artifacts=tmp_path)
    assert proved.verdicts()["upgrade"] == "proven"
    database = Path(proved.summary["evidence"]) / "data" / "holdfast.db"
    with closing(sqlite3.connect(database)) as store:
        assert store.execute("SELECT value FROM schema_meta WHERE key = 'version'").fetchall() == [(str(number),)]


def test_a_next_version_of_it_is_told_the_store(tmp_path: Path) -> None:
    launch = bundled(tmp_path, 4321, "sqlite:///x.db", next_line="next --port {port} --store {store}")
    assert launch.next_command == ("next", "--port", "4321", "--store", "sqlite:///x.db")
    assert bundled(tmp_path, 4321, None).next_command == ()


@pytest.mark.long(seconds=20)
@pytest.mark.parametrize("seed", [1])
def test_the_bundled_runtime_is_proven_again_and_again(seed: int, store_url: str, tmp_path: Path) -> None:
    wire = ("0.3", "1.0")[seed % 2]
    proved = prove("--store", store_url, "--wire", wire, "--seed", str(seed), "--json", artifacts=tmp_path)
    assert proved.verdicts() == dict.fromkeys(PROVABLE, "proven")


def test_a_store_that_was_asked_for_is_passed_on(tmp_path: Path) -> None:
    assert bundled(tmp_path, 4321, "sqlite:///x.db").command[-2:] == ("--store", "sqlite:///x.db")


def test_its_conversations_may_be_in_files(tmp_path: Path) -> None:
    launch = bundled(tmp_path, 4321, None, files=True)
    assert launch.name == "bundled-file"
    assert launch.command[-2:] == ("--agent-storage", "file")


QUICK = ("name", "crash", "crash-mid-turn")


def test_with_its_conversations_in_files_it_is_proven(tmp_path: Path) -> None:
    chosen = ("--target", "bundled-file", "--only", ",".join(QUICK), "--json")
    assert prove(*chosen, artifacts=tmp_path).verdicts() == dict.fromkeys(QUICK, "proven")


@pytest.mark.long(seconds=60)
@pytest.mark.parametrize("wire", ["0.3", "1.0"])
def test_the_whole_catalogue_holds_with_conversations_in_files(wire: str, tmp_path: Path) -> None:
    proved = prove("--target", "bundled-file", "--wire", wire, "--json", artifacts=tmp_path)
    assert proved.verdicts() == dict.fromkeys(PROVABLE, "proven")


def test_it_may_ask_the_second_agent_and_no_other(tmp_path: Path) -> None:
    launch = bundled(tmp_path, 4321, None, peer_url="http://127.0.0.1:4322/a2a")
    assert launch.command[-2:] == ("--allow-agent", "http://127.0.0.1:4322/a2a")
    assert launch.peer_url == "http://127.0.0.1:4322/a2a"
