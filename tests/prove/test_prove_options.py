"""The options that say how often to run, what to print and what to leave behind."""

import json
import re
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import pytest
from click.testing import CliRunner
from tests.prove.prover import DEAD_PROXY, alive, command, gone, prove
from tests.support.eventually import wait_until
from tests.support.processes import holdfast

from holdfast.cli.prove import prove as prove_command
from holdfast.core.errors import InvalidInput
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.runs.repeat import combine

FILES = {"summary.json", "events.jsonl", "report.html", "junit.xml", "summary.md"}


def test_events_are_printed_as_they_happen_and_the_summary_ends_them(tmp_path: Path) -> None:
    proved = prove("--target", "broken:task-keyed", "--only", "name", "--ndjson", artifacts=tmp_path)
    assert proved.exit_code == 1
    *events, last = [json.loads(line) for line in proved.stdout.splitlines()]
    folder = (tmp_path / "prove" / "latest").resolve()
    assert events == [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert last == {"event": "summary", **json.loads((folder / "summary.json").read_text())}


def test_repeats_have_seeds_and_folders_of_their_own(tmp_path: Path) -> None:
    arguments = ("--target", "broken:none", "--only", "name", "--repeat", "3", "--seed", "0", "--json")
    proved = prove(*arguments, artifacts=tmp_path)
    folder = Path(proved.summary["evidence"])
    assert proved.exit_code == 0
    assert [run["seed"] for run in proved.summary["runs"]] == [0, 1, 2]
    assert {path.name for path in folder.iterdir()} == FILES | {"run-1", "run-2", "run-3"}
    told = [json.loads((folder / f"run-{number}" / "summary.json").read_text())["proofs"][0] for number in (1, 2, 3)]
    assert len({proof["reason"] for proof in told}) == 3
    assert all((folder / f"run-{number}" / "report.html").exists() for number in (1, 2, 3))
    (name,) = proved.summary["proofs"]
    assert name["reason"].endswith("(in 3 of 3 runs)")
    assert proved.stderr.count("run 3 of 3: proven") == 1


def run_of(seed: int, *verdicts: tuple[str, bool], exit_code: int) -> dict[str, Any]:
    """The summary of one of several runs."""
    proofs = [
        {"name": f"p{place}", "verdict": verdict, "fault": fault, "reason": f"as with {seed}", "seconds": seed}
        for place, (verdict, fault) in enumerate(verdicts)
    ]
    rest = {
        "prerequisites": [],
        "proofs": proofs,
        "evidence": f"/e/run-{seed}",
        "verdict": "",
        "seconds": 1,
        "left_out": {},
    }
    return {"seed": seed, "exit_code": exit_code, **rest}


def test_one_disproof_among_many_runs_is_a_disproof() -> None:
    fine, cut = [("proven", False)] * 3, [("proven", False), ("inconclusive", True), ("inconclusive", False)]
    lost = [("disproven", False), ("proven", False), ("not reached", False)]
    runs = [run_of(1, *fine, exit_code=0), run_of(2, *cut, exit_code=2), run_of(3, *lost, exit_code=1)]
    whole = combine(runs, seconds=3.0, folder=Path("/e"))
    assert (whole["verdict"], whole["exit_code"]) == ("disproven", 1)
    assert [(proof["verdict"], proof["fault"]) for proof in whole["proofs"]] == [
        ("disproven", False),
        ("inconclusive", True),
        ("inconclusive", False),
    ]
    assert whole["proofs"][0]["reason"] == "as with 3 (in 1 of 3 runs, with --seed 3)"
    assert combine(runs[:2], seconds=1.0, folder=Path("/e"))["exit_code"] == 2
    assert combine(runs[:1], seconds=1.0, folder=Path("/e"))["exit_code"] == 0


def test_what_one_run_left_out_and_another_tried_is_told_of_both() -> None:
    one = run_of(1, ("proven", False), exit_code=0) | {"left_out": {"p1": "no card", "p2": "first"}}
    two = run_of(2, ("proven", False), ("proven", False), exit_code=0) | {"left_out": {"p2": "second", "p3": "late"}}
    whole = combine([one, two], seconds=3.0, folder=Path("/e"))
    assert whole["left_out"] == {"p2": "first", "p3": "late"}
    assert [proof["reason"] for proof in whole["proofs"]] == [
        "as with 1 (in 2 of 2 runs)",
        "as with 2 (in 1 of 1 runs, left out in 1 of 2)",
    ]


def test_an_interrupted_repeat_is_the_last_and_is_reported(tmp_path: Path) -> None:
    words = command("--target", "broken:none", "--only", "crash-mid-turn", "--repeat", "50", artifacts=tmp_path)[3:]
    with holdfast(*words, variables=DEAD_PROXY) as run:
        latest = tmp_path / "prove" / "latest"
        wait_until((latest / "run-1" / "target-1.log").exists)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 2
    assert "FAULT" in said
    assert (latest / "report.html").exists()
    assert not (latest / "run-3").exists()


def test_a_run_leaves_every_report_and_junit_where_it_was_asked_for_too(tmp_path: Path) -> None:
    path = tmp_path / "new" / "proof.xml"
    proved = prove("--target", "broken:task-keyed", "--only", "name", "--junit", str(path), artifacts=tmp_path / "a")
    assert proved.exit_code == 1
    (suite,) = Tree.parse(path).getroot()
    assert suite.get("failures") == "1"
    folder = (tmp_path / "a" / "prove" / "latest").resolve()
    assert {one.name for one in folder.iterdir()} >= FILES
    assert f"report: {folder / 'report.html'}\n" in proved.stdout


def test_a_report_that_cannot_be_made_does_not_hide_a_disproof(tmp_path: Path) -> None:
    for kind, code in (("task-keyed", 1), ("none", 2)):
        arguments = ("--target", f"broken:{kind}", "--only", "name", "--junit", "/dev/full")
        proved = prove(*arguments, artifacts=tmp_path)
        assert proved.exit_code == code
        assert "the reports could not be made" in proved.stderr


def test_the_last_report_is_made_again_and_its_path_is_all_that_is_printed(tmp_path: Path) -> None:
    prove("--target", "broken:none", "--only", "name", artifacts=tmp_path)
    page = (tmp_path / "prove" / "latest").resolve() / "report.html"
    before = page.read_bytes()
    page.unlink()
    shown = prove("--show", artifacts=tmp_path)
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, f"{page}\n", "")
    assert page.read_bytes() == before
    moved = tmp_path / "moved"
    page.parent.rename(moved)
    assert prove("--show", str(moved), artifacts=tmp_path).stdout == f"{moved / 'report.html'}\n"


def test_the_reports_of_all_runs_are_made_again(tmp_path: Path) -> None:
    prove("--target", "broken:none", "--only", "name", "--repeat", "2", artifacts=tmp_path)
    folder = (tmp_path / "prove" / "latest").resolve()
    pages = [folder / "report.html", folder / "run-1" / "report.html", folder / "run-2" / "report.html"]
    before = [page.read_bytes() for page in pages]
    for page in pages:
        page.unlink()
    shown = prove("--show", artifacts=tmp_path)
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, f"{pages[0]}\n", "")
    assert [page.read_bytes() for page in pages] == before
    (folder / "summary.json").unlink()
    shown = prove("--show", artifacts=tmp_path)
    assert shown.exit_code == 2
    assert f"--show {folder / 'run-2'}\n" in shown.stderr


def test_where_nothing_was_run_there_is_nothing_to_show(tmp_path: Path) -> None:
    shown = prove("--show", artifacts=tmp_path)
    assert shown.exit_code == 2
    assert "run `holdfast prove` first" in shown.stderr


def test_a_target_that_is_kept_running_answers_until_the_proof_is_ended(tmp_path: Path) -> None:
    words = command("--target", "broken:none", "--only", "name", "--keep-running", artifacts=tmp_path)[3:]
    with holdfast(*words, variables=DEAD_PROXY) as run:
        assert run.stderr is not None
        line = next(line for line in run.stderr if line.startswith("the target runs on"))
        pid = int(re.findall(r"pid (\d+)", line)[0])
        assert (tmp_path / "prove" / "latest" / "report.html").exists()
        assert alive(pid)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert "PROVEN" in said
    wait_until(lambda: gone(pid))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--json", "--ndjson"), "--json and --ndjson exclude each other"),
        (("--repeat", "2", "--keep-running"), "--keep-running is for a single run"),
        (("--repeat", "0"), "0 is not in the range"),
        (("--timeout", "nan"), "--timeout is a number of seconds"),
        (("--timeout", "inf"), "--timeout is a number of seconds"),
        (("--junit", "/dev/null/proof.xml"), "there can be no folder /dev/null: File exists"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_starts(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    proved = prove(*arguments, artifacts=tmp_path / "none")
    assert proved.exit_code == 2
    assert said in proved.stderr
    assert not (tmp_path / "none").exists()


def test_a_place_that_takes_no_evidence_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    (taken / "prove").mkdir(parents=True)
    (taken / "prove" / "latest").mkdir()
    proved = prove("--target", "broken:none", "--only", "name", artifacts=taken)
    assert (proved.exit_code, proved.stdout) == (2, "")
    assert proved.stderr.startswith(f"error: evidence cannot be written to {taken}: ")
    assert "--artifacts DIR" in proved.stderr


def test_an_option_on_the_wrong_side_of_a_subcommand_is_named_as_it_is_written() -> None:
    said = CliRunner().invoke(prove_command, ["--keep-running", "store"]).output
    assert "--keep-running goes after `store`" in said


def test_every_option_has_its_words_in_the_help() -> None:
    said = CliRunner().invoke(prove_command, ["--help"]).output
    for parameter in prove_command.params:
        assert parameter.opts[0] in said
        assert getattr(parameter, "help", "help"), parameter.name


def test_every_option_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "prove.md").read_text()
    missing = [parameter.opts[0] for parameter in prove_command.params if f"`{parameter.opts[0]}" not in page]
    assert missing == []


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ("holdfast prove --only ", "", list(catalogue())),
        ("holdfast prove --only ", "name,cra", ["name,crash", "name,crash-mid-turn"]),
        ("holdfast prove --target ", "b", ["bundled", "bundled-file", *(f"broken:{kind}" for kind in KINDS)]),
    ],
)
def test_a_shell_completes_proofs_and_targets(words: str, incomplete: str, expected: list[str]) -> None:
    from click.shell_completion import ShellComplete

    from holdfast.cli import main

    shell = ShellComplete(main, {}, "holdfast", "_HOLDFAST_COMPLETE")
    found = shell.get_completions(words.split()[1:], incomplete)
    assert [item.value for item in found] == expected


@pytest.mark.parametrize("option", ["artifacts", "junit", "workspace"])
def test_a_path_whose_links_go_round_in_circles_is_refused(option: str, tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(InvalidInput, match=f"--{option} .*circles"):
        RuntimeOptions.of((), {option: circle / "within"}, {})
