"""`holdfast prove live` against a gateway that somebody else runs: with traffic on it, in quiet, with tokens."""

import json
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.holders import Wanted, client, make_tokens
from tests.gateway.process import Running, running
from tests.prove.live.live_prover import evidence, legacy_store, not_proven, prove_live
from tests.prove.prover import run
from tests.support.eventually import wait_until
from tests.support.legacy_layout import conversation, write_index, write_session
from tests.support.processes import holdfast

from holdfast.prove.live.remains import BY_DESIGN, UPKEEP


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Running]:
    """A gateway with a session of somebody's, and a legacy file in its data folder."""
    legacy_store(tmp_path / "data")
    with running(tmp_path / "data") as made:
        with client(made.url) as asking:
            asking.post("/api/chat/agent:main:somebody", json={"text": "My name is Ada."}).raise_for_status()
        yield made


def rows(data: Path) -> dict[str, set[str]]:
    """Every row of the store but those that the gateway writes by itself."""
    database = sqlite3.connect(f"file:{data}/holdfast.db?mode=ro", uri=True)
    named = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_text%' ESCAPE '\\'"
    )
    tables = [name for (name,) in named if name not in UPKEEP and not name.startswith("sqlite")]
    found = {name: {repr(row) for row in database.execute(f"SELECT * FROM {name}")} for name in tables}
    database.close()
    return found


def answers(asking: httpx2.Client) -> dict[str, Any]:
    """What the API tells of everybody else's session."""
    paths = ("/api/sessions/agent:main:somebody", "/api/keys/agent:main:somebody", "/api/sessions",
             "/api/chat/agent:main:somebody/history", "/api/state/agent:main:somebody")  # fmt: skip
    return {path: asking.get(path).raise_for_status().json() for path in paths}


def test_a_quiet_run_leaves_only_what_a_deletion_leaves(gateway: Running, tmp_path: Path) -> None:
    data = tmp_path / "data"
    legacy = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in data.glob("agents/*/sessions/*")}
    with client(gateway.url) as asking:
        before, told = rows(data), answers(asking)
        done = prove_live("--url", gateway.url, "--alone", artifacts=tmp_path / "a")
        assert not_proven(done.summary) == {}, done.stdout
        assert done.exit_code == 0
        assert answers(asking) == told
        found = asking.get("/api/query/search", params={"q": "automated check"}).json()["hits"]
        assert found == [], "nor is a word of it in the index, which is not compared row by row"
    after = rows(data)
    assert {table for table in before if before[table] - after[table]} == set()
    new = {table: len(after[table] - before[table]) for table in after if after[table] - before[table]}
    left = evidence(tmp_path / "a", "store-after.json")["left"]
    assert set(new) <= set(BY_DESIGN)
    assert new == {table: sum(1 for row in left if row["table"] == table) for table in {row["table"] for row in left}}
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in legacy} == legacy
    assert "recovery" in done.summary["left_out"]


def test_what_doctor_says_of_the_legacy_files_is_told_and_decides_nothing(gateway: Running, tmp_path: Path) -> None:
    """After the start somebody adds a hot session to the files: they are ahead of the store, and it is no matter."""
    write_session(tmp_path / "data", "late", conversation("late", "a secret of Ada's"))
    write_index(tmp_path / "data", {"agent:main:late": "late"})
    done = prove_live("--url", gateway.url, artifacts=tmp_path / "a", environment={"HOLDFAST_URL": "http://elsewhere"})
    assert (done.exit_code, not_proven(done.summary)) == (0, {}), done.stderr
    folder = tmp_path / "a" / "live" / "latest"
    events = [json.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]
    (told,) = [each for each in events if each["event"] == "doctor"]
    assert (told["proof"], told["step"], told["ended"]) == ("preflight", "doctor validate", "ended with exit code 1")
    assert told["issues"] == {"entry_missing": 1, "unreferenced_jsonl": 1}
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"agent:main:late" not in kept and b"secret of Ada" not in kept


@pytest.mark.long(seconds=5)
def test_a_gateway_with_other_traffic_is_proven(gateway: Running, tmp_path: Path) -> None:
    ended = threading.Event()
    written: list[int] = []

    def write() -> None:
        with client(gateway.url) as asking:
            while not ended.is_set():
                asking.post("/api/actions/busy", json={"type": "note", "details": len(written)}).raise_for_status()
                asking.post("/api/chat/agent:main:somebody", json={"text": "And again."}).raise_for_status()
                written.append(1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = prove_live("--url", gateway.url, artifacts=tmp_path / "a")
        alone = prove_live("--url", gateway.url, "--alone", artifacts=tmp_path / "b")
    finally:
        ended.set()
        writer.join()
    assert not_proven(done.summary) == {}, done.stdout
    assert done.exit_code == 0 and written
    assert alone.exit_code == 1
    assert alone.summary["failed_assertion"]["assertion"] == "rows advance only where expected"


@pytest.mark.long(seconds=10)
def test_a_gateway_on_postgresql_is_proven(tmp_path: Path, postgres_url: str) -> None:
    with running(tmp_path / "data", "--store", postgres_url) as gateway:
        arguments = ("--url", gateway.url, "--store", postgres_url, "--alone", "--recovery")
        done = prove_live(*arguments, artifacts=tmp_path / "a")
    assert (done.exit_code, not_proven(done.summary)) == (0, {}), done.stdout


@pytest.mark.long(seconds=10)
def test_two_proofs_at_once_do_not_disturb_each_other(gateway: Running, tmp_path: Path) -> None:
    words = ("prove", "live", "--url", gateway.url, "--json", "--quiet", "--artifacts")
    for number in range(3):
        with ExitStack() as stack:
            both = [stack.enter_context(holdfast(*words, str(tmp_path / f"{number}-{each}"))) for each in "ab"]
            said = [process.communicate(60) for process in both]
            assert [process.wait() for process in both] == [0, 0], said


@pytest.mark.long(seconds=5)
def test_a_turn_that_is_interrupted_as_by_a_restart_is_gone_on_with(gateway: Running, tmp_path: Path) -> None:
    done = prove_live("--url", gateway.url, "--recovery", "--alone", artifacts=tmp_path / "a")
    assert not_proven(done.summary) == {}, done.stdout
    assert done.summary["left_out"] == {}
    assert "recovery" in {step["name"] for step in done.summary["proofs"]}


@pytest.mark.long(seconds=5)
def test_a_run_that_is_cut_short_cleans_up(gateway: Running, tmp_path: Path) -> None:
    words = ("prove", "live", "--url", gateway.url, "--recovery", "--artifacts", str(tmp_path / "a"), "--json")
    events = tmp_path / "a" / "live" / "latest" / "events.jsonl"
    with holdfast(*words) as process:
        wait_until(lambda: events.exists() and '"proof":"recovery"' in events.read_text())
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(60)
        assert process.wait() == 2, out
    steps = {step["name"]: step for step in json.loads(out)["proofs"]}
    assert steps["recovery"]["verdict"] == "not reached" and "interrupted" in steps["recovery"]["reason"]
    assert steps["cleanup"]["verdict"] == "proven", steps["cleanup"]
    with client(gateway.url) as asking:
        left = [each["sessionId"] for each in asking.get("/api/sessions").json()["sessions"]]
    assert left == ["agent:main:somebody"]


@pytest.mark.long(seconds=5)
def test_two_tenants_have_sessions_of_the_same_name(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    wanted = {"one": Wanted(["operator"]), "two": Wanted(["write"], tenant="two")}
    tokens = make_tokens(f"sqlite:///{data}/holdfast.db", wanted)
    with running(data) as gateway:
        for token, times in ((tokens["two"], 1), (tokens["one"], 2), (tokens["two"], 3)):
            with client(gateway.url, token) as asking:
                for _ in range(times):
                    asking.post("/api/actions/same", json={"type": "note", "details": 1}).raise_for_status()
        environment = {"HOLDFAST_TOKEN": tokens["one"]}
        for tenant in ((), ("--tenant", "two")):
            done = prove_live("--url", gateway.url, *tenant, artifacts=tmp_path / "a", environment=environment)
            assert (done.exit_code, not_proven(done.summary)) == (0, {}), done.stdout


def test_a_database_of_another_gateway_is_a_fault(gateway: Running, tmp_path: Path) -> None:
    with running(tmp_path / "other"):
        store = f"sqlite:///{tmp_path}/other/holdfast.db"
        done = prove_live("--url", gateway.url, "--store", store, artifacts=tmp_path / "a")
    assert done.exit_code == 2
    assert "not the gateway's" in done.summary["prerequisites"][0]["reason"]


def test_an_isolated_gateway_takes_no_store_that_somebody_uses(gateway: Running, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/data/holdfast.db"
    words = ("prove", "live", "--isolated", "--store", store, "--artifacts", str(tmp_path / "a"))
    done = run(*words, environment={})
    assert done.exit_code == 2
    assert "nobody has used" in done.stderr
    assert not list((tmp_path / "a" / "live" / "latest").glob("data"))


@pytest.mark.long(seconds=5)
def test_what_was_asked_to_be_kept_is_kept(gateway: Running, tmp_path: Path) -> None:
    done = prove_live("--url", gateway.url, "--keep-artifacts", artifacts=tmp_path / "a")
    assert done.exit_code == 0
    key = done.summary["session_key"]
    with client(gateway.url) as asking:
        assert asking.get(f"/api/keys/{key}").json()["sessionId"]
    again = prove_live("--url", gateway.url, "--session-key", key, artifacts=tmp_path / "b")
    assert again.exit_code == 2
    assert not_proven(again.summary)["chat"] == "not reached"
    assert "was used before" in again.summary["prerequisites"][0]["reason"]


@pytest.mark.long(seconds=5)
def test_a_gateway_with_tokens_is_proven_by_an_operator_only(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    tokens = make_tokens(f"sqlite:///{data}/holdfast.db", {each: Wanted([each]) for each in ("operator", "admin")})
    with running(data) as gateway:
        good = prove_live(
            "--url", gateway.url, artifacts=tmp_path / "a", environment={"HOLDFAST_TOKEN": tokens["operator"]}
        )
        assert (good.exit_code, not_proven(good.summary)) == (0, {})
        for token in (tokens["admin"], ""):
            bad = prove_live("--url", gateway.url, artifacts=tmp_path / "b", environment={"HOLDFAST_TOKEN": token})
            assert bad.exit_code == 2
            assert "operator" in bad.summary["prerequisites"][0]["hint"]
    secret = tokens["operator"].encode()
    assert [path for path in (tmp_path / "a").rglob("*") if path.is_file() and secret in path.read_bytes()] == []


@pytest.mark.long(seconds=5)
def test_an_allowed_line_of_the_log_passes_and_is_recorded(gateway: Running, tmp_path: Path) -> None:
    log = tmp_path / "data" / "logs" / "gateway.log"

    def spoil(*arguments: str, to: Path) -> tuple[int, list[dict[str, Any]]]:
        ended = threading.Event()

        def write() -> None:
            while not ended.wait(0.002):
                with log.open("ab") as file:
                    file.write(b'{"level":"error","logger":"disk","message":"the fan is loud"}\n')

        writer = threading.Thread(target=write)
        writer.start()
        try:
            done = prove_live("--url", gateway.url, *arguments, artifacts=to)
        finally:
            ended.set()
            writer.join()
        return done.exit_code, evidence(to, "gateway-log-scan.json")["findings"]

    code, findings = spoil("--allow-log", "fan is l.ud", to=tmp_path / "a")
    assert code == 0 and findings and {line["allowed"] for line in findings} == {"fan is l.ud"}
    code, findings = spoil(to=tmp_path / "b")
    assert code == 1 and {line["rule"] for line in findings} == {"error"}
