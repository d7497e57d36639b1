"""`holdfast prove` as a user meets it: options, exit codes, output and evidence."""

import json
import re
import sys
from pathlib import Path

import pytest
from tests.prove.prover import DEAD_PROXY, command, events, prove, prove_as_process
from tests.support.processes import ended

from holdfast.prove.broken.expected import KINDS
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.targets.process import free_port

ESCAPE = "\x1b["


def test_a_target_that_runs_elsewhere_is_not_restarted(running: tuple[str, Path], tmp_path: Path) -> None:
    url, workspace = running
    proved = prove("--url", url, "--workspace", str(workspace), "--profile", "all", "--json", artifacts=tmp_path)
    assert proved.exit_code == 0
    left_out = {"peer", *(proof.name for proof in catalogue().values() if proof.restarts and not proof.live)}
    assert proved.verdicts() == {name: "proven" for name in catalogue() if name not in left_out}
    assert set(proved.summary["left_out"]) == left_out


def test_a_restart_that_was_asked_for_and_cannot_be_done_is_inconclusive(
    running: tuple[str, Path], tmp_path: Path
) -> None:
    proved = prove("--url", running[0], "--only", "crash", artifacts=tmp_path)
    assert proved.exit_code == 3
    assert re.search(r"crash +inconclusive", proved.stdout)


def test_an_effect_that_cannot_be_seen_is_inconclusive(running: tuple[str, Path], tmp_path: Path) -> None:
    proved = prove("--url", running[0], "--only", "duplicate", artifacts=tmp_path)
    assert proved.exit_code == 3
    assert "--workspace DIR" in proved.stdout


def test_the_same_seed_may_be_used_again_on_a_target_that_remembers(running: tuple[str, Path], tmp_path: Path) -> None:
    url, workspace = running
    for _ in range(2):
        arguments = ("--url", url, "--workspace", str(workspace), "--seed", "0", "--only", "name,duplicate")
        proved = prove(*arguments, artifacts=tmp_path)
        assert proved.exit_code == 0
        assert "the answer names Hongming" in proved.stdout


def test_the_wrong_path_is_a_failure_of_the_target_and_not_of_the_surroundings(
    running: tuple[str, Path], tmp_path: Path
) -> None:
    proved = prove("--url", running[0] + "/elsewhere", "--json", artifacts=tmp_path)
    assert proved.exit_code == 1
    assert [found["verdict"] for found in proved.summary["prerequisites"]] == ["proven", "disproven", "not reached"]
    assert set(proved.verdicts().values()) == {"not reached"}


def test_nobody_at_the_url_is_a_fault(tmp_path: Path) -> None:
    proved = prove("--url", f"http://127.0.0.1:{free_port()}", artifacts=tmp_path)
    assert proved.exit_code == 2
    assert "FAULT" in proved.stdout
    assert "needs reachable" in proved.stdout


def test_any_command_can_be_proven(tmp_path: Path) -> None:
    workspace = tmp_path / "data" / "workspace"
    workspace.mkdir(parents=True)
    line = f"{sys.executable} -m holdfast.prove.broken none --port {{port}} --data {workspace.parent}"
    proved = prove("--command", line, "--workspace", str(workspace), "--profile", "all", "--json", artifacts=tmp_path)
    assert proved.exit_code == 0
    left_out = {"peer", "children", "upgrade"}
    assert proved.verdicts() == {name: "proven" for name in catalogue() if name not in left_out}
    assert set(proved.summary["left_out"]) == left_out


def test_a_terminal_that_knows_ascii_only_is_no_obstacle(tmp_path: Path) -> None:
    arguments = ("--target", "broken:task-keyed", "--only", "name")
    proved = prove_as_process(*arguments, artifacts=tmp_path, environment={"PYTHONIOENCODING": "ascii"})
    assert proved.exit_code == 1
    assert "an answer to ?What's my name??" in proved.stdout


def test_a_run_leaves_evidence(tmp_path: Path) -> None:
    root = tmp_path / ".artifacts"
    proved = prove("--target", "broken:memory-only", "--only", "crash", "--seed", "7", "--json", artifacts=root)
    folder = Path(proved.summary["evidence"])
    assert proved.exit_code == 1
    assert (root / ".gitignore").read_text() == "*\n"
    assert (root / "prove" / "latest").resolve() == folder.resolve()
    assert json.loads((folder / "summary.json").read_bytes()) == proved.summary
    assert proved.summary["seed"] == 7
    assert "holdfast.prove.broken memory-only" in proved.summary["target"]["command"]
    assert proved.summary["arguments"]["only"] == "crash"
    assert proved.summary["logs"] == [f"target-{number}.log" for number in range(1, 5)]
    assert all((folder / log).stat().st_size for log in proved.summary["logs"])
    told = [(event["proof"], event["event"]) for event in events(root) if event["proof"] == "crash"]
    exchange = [("crash", "request"), ("crash", "answer")]
    power = [("crash", "kill"), ("crash", "killed"), ("crash", "start"), ("crash", "ready")]
    assert told == [*exchange, *power, *power, *exchange, ("crash", "verdict")]
    numbers = [event["n"] for event in events(root)]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("columns", [60, 200])
def test_the_table_fits_the_terminal(running: tuple[str, Path], tmp_path: Path, columns: int) -> None:
    words = command("--url", running[0], "--only", "name,isolation", artifacts=tmp_path)[3:]
    done = ended(*words, variables={**DEAD_PROXY, "COLUMNS": str(columns)})
    assert done.returncode == 0
    shown = done.stdout.partition("\n\n")[0].splitlines()
    assert shown[0].split() == ["proof", "verdict", "s", "reason"]
    assert max(len(line) for line in shown) <= columns
    assert len(shown) == 3 or columns == 60
    assert "PROVEN in" in done.stdout
    assert ESCAPE not in done.stdout + done.stderr


def test_colour_is_for_terminals_that_want_it(running: tuple[str, Path], tmp_path: Path) -> None:
    forced = {"FORCE_COLOR": "1", "TERM": "xterm"}
    arguments = ("--url", running[0], "--only", "name")
    green = "\x1b[32m"
    assert green in prove(*arguments, artifacts=tmp_path, environment=forced).stdout
    assert green not in prove(*arguments, artifacts=tmp_path, environment={**forced, "NO_COLOR": "1"}).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "telepathy"), "there is no proof named telepathy"),
        (("--only", " ,"), "--only names no proof"),
        (("--target", "broken:everything"), "there is no target 'broken:everything'"),
        (("--url", "http://h", "--command", "x"), "exclude each other"),
        (("--url", "ftp://h"), "is not an http or https URL"),
        (("--url", "http://h", "--port", "80"), "--port is not for --url"),
        (("--url", "http://h", "--store", "sqlite://"), "--store is for the bundled target only"),
        (("--command", "serve"), "--command needs a port"),
        (("--command", "'", "--port", "80"), "cannot be split"),
        (("--workspace", "."), "--workspace is for --url and --command"),
        (("--wire", "2.0"), "'2.0' is not one of"),
        (("--timeout", "0"), "0.0 is not in the range"),
    ],
)
def test_a_wrong_option_is_refused_with_a_hint(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    proved = prove(*arguments, artifacts=tmp_path / "none")
    assert proved.exit_code == 2
    assert said in proved.stderr
    assert proved.stdout == ""
    assert not (tmp_path / "none").exists()


def test_a_refusal_never_drives_the_terminal(tmp_path: Path) -> None:
    proved = prove("--only", "\x1b[2J\x9b31m", artifacts=tmp_path)
    assert "there is no proof named" in proved.stderr
    assert [char for char in proved.stderr if not char.isprintable() and char != "\n"] == []


def test_the_list_names_every_proof_and_every_broken_target(tmp_path: Path) -> None:
    listed = prove("--list", artifacts=tmp_path, columns=60)
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in (*catalogue(), "broken:ack-before-commit"))
    document = prove("--list", "--json", artifacts=tmp_path).summary
    assert [proof["name"] for proof in document["proofs"]] == list(catalogue())
    keyed = next(kind for kind in document["broken"] if kind["kind"] == "task-keyed")
    assert set(keyed["disproven"]) == KINDS["task-keyed"].disproven
    assert set(keyed["not_reached"]) == KINDS["task-keyed"].not_reached
