"""`holdfast prove store` as a user meets it: options, exit codes, output, evidence, and no process left behind."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.prove.prover import gone
from tests.prove.store.putting import ROOT, command, little, put
from tests.support.eventually import wait_until

from holdfast.prove.store.clauses import contract


def clients_of(group_leader: int) -> list[int]:
    """The clients that a proof has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if b"holdfast.prove.store.child" in line and int(parent) == group_leader:
                found.append(int(entry.name))
    return found


def test_no_secret_is_in_what_the_clients_said(tmp_path: Path) -> None:
    done = put("--adapter", little("Talkative"), "--only", "isolation", "--json", artifacts=tmp_path)
    said = (Path(done.summary["evidence"]) / "clients-isolation.log").read_text()
    assert "opening postgresql://ada:***@db/x" in said
    assert "hunter2" not in said


def test_what_is_not_offered_is_not_green_and_is_counted(tmp_path: Path) -> None:
    done = put("--adapter", little("OnlyAppends"), "--cycles", "3", "--events", "1000", artifacts=tmp_path)
    assert done.exit_code == 0
    lacking = [clause.name for clause in contract().values() if clause.needs]
    assert f"6 proven, {len(lacking)} not offered" in done.stdout
    assert "no idempotency keys in this store or its adapter" in " ".join(done.stdout.split())


def test_what_is_asked_for_and_not_offered_is_inconclusive(tmp_path: Path) -> None:
    done = put("--adapter", little("OnlyAppends"), "--only", "retry,isolation", "--json", artifacts=tmp_path)
    assert done.exit_code == 3
    assert done.verdicts() == {"isolation": "proven", "retry": "not offered"}
    assert done.summary["counts"] == {"proven": 1, "not offered": 1}


def test_a_run_leaves_evidence(tmp_path: Path) -> None:
    root = tmp_path / ".artifacts"
    arguments = ("--adapter", little("ForgetsKeys"), "--only", "retry,isolation", "--cycles", "2", "--seed", "9")
    done = put(*arguments, "--json", artifacts=root)
    folder = Path(done.summary["evidence"])
    assert (root / "prove-store" / "latest").resolve() == folder.resolve()
    assert json.loads((folder / "summary.json").read_bytes()) == done.summary
    assert done.summary["seed"] == 9
    assert done.summary["store"] == "a little store"
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    (facts,) = [event["facts"] for event in events if event["proof"] == "retry" and event["event"] == "facts"]
    assert facts["found"].count("once") == 4
    assert contract()["retry"].claim == done.clause("retry")["claim"]
    assert (folder / "data" / "retry" / "little.db").exists(), "the data of what is disproven is kept"
    assert not (folder / "data" / "isolation").exists()
    assert "proving a little store with --seed 9" in done.stderr


def test_a_store_may_print(tmp_path: Path) -> None:
    done = put("--adapter", little("Prints"), "--only", "concurrent", "--json", artifacts=tmp_path)
    assert done.verdicts() == {"concurrent": "proven"}
    assert "really" in (Path(done.summary["evidence"]) / "clients-concurrent.log").read_text()


def test_a_store_that_ends_its_process_is_a_fault(tmp_path: Path) -> None:
    done = put("--adapter", little("Dies"), "--only", "concurrent", artifacts=tmp_path)
    assert done.exit_code == 2
    assert "a client ended by itself with exit code 7" in " ".join(done.stdout.split())


def test_a_store_that_never_answers_is_inconclusive(tmp_path: Path) -> None:
    done = put("--adapter", little("Hangs"), "--only", "concurrent", "--timeout", "1.5", artifacts=tmp_path)
    assert done.exit_code == 3
    assert "not done within 1.5 s" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there is no store to prove"),
        (("--adapter", ":x"), "names no adapter"),
        (("--adapter", "no/such/file.py"), "there is no file no/such/file.py"),
        (("--adapter", little("Little"), "--only", "telepathy"), "there is no clause named telepathy"),
        (("--adapter", little("Little"), "--only", ","), "--only names no clause"),
        (("--adapter", little("Little"), "--cycles", "0"), "0 is not in the range"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_made(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = put(*arguments, artifacts=tmp_path / "none")
    assert done.exit_code == 2
    assert said in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("adapter", "said"),
    [
        ("no_such_module:factory", "No module named 'no_such_module'"),
        (little("nothing"), "has no nothing"),
        (little("not_an_adapter"), "the factory made a PosixPath, not a StoreAdapter"),
        (little("OffersNonsense"), "there is nothing called 'telepathy' to offer"),
        (little("OffersWhatItLacks"), "the verb 'append' is missing; the verb 'read' is missing; the verb 'delete'"),
    ],
)
def test_an_adapter_that_cannot_be_used_says_why(adapter: str, said: str, tmp_path: Path) -> None:
    done = put("--adapter", adapter, artifacts=tmp_path)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_an_option_of_the_other_proof_is_not_ignored(tmp_path: Path) -> None:
    words = command("--list", artifacts=tmp_path)
    at = words.index("store")
    done = subprocess.run([*words[:at], "--seed", "3", *words[at:]], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--seed goes after `store`" in done.stderr


def test_the_list_names_every_clause(tmp_path: Path) -> None:
    listed = put("--list", artifacts=tmp_path)
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in contract())
    document = put("--list", "--json", artifacts=tmp_path).summary
    assert [clause["name"] for clause in document["clauses"]] == list(contract())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_however_a_proof_ends_its_clients_end_with_it(number: signal.Signals, tmp_path: Path) -> None:
    words = command("--adapter", little("Hangs"), "--only", "concurrent", "--timeout", "60", artifacts=tmp_path)
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as proof:
        clients = wait_until(lambda: found if len(found := clients_of(proof.pid)) == 4 else None)
        # An idle client ends with its stdin; one that hangs in the store needs the leash.
        wait_until(lambda: next(tmp_path.rglob("hanging"), None))
        os.kill(proof.pid, number)
        for client in clients:
            wait_until(lambda client=client: gone(client))  # type: ignore[misc]
        assert proof.wait(30) == (-number if number is signal.SIGKILL else 2)
