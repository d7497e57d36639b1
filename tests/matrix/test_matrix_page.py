"""What is published of results: every verdict with its grounds, and nothing that was not run as if it had been."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.matrix.cell import FAULT, CellKey, CellRun, Unproven
from tests.matrix.page import BEGIN, END, Runs, put_into
from tests.matrix.picture import picture
from tests.matrix.results import Judgement, Judgements, judgements, missing, needless, newest
from tests.support.resumable import documents

from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.targets.templates.folder import template_names

DOCS = Path(__file__).parents[2] / "docs"
LOST = Unproven("crash", "disproven", "Ada was told and is not there", "Ada", "I | do not know", ["say it", "SIGKILL"])
UNCLEAR = Unproven("pause", "inconclusive", "no answer came", "", "", [])
FORGOTTEN = Unproven("known", "disproven", "the city is not known", "Rome", "none", ["“My city is Rome.”"])
CATALOGUE = CellRun(
    *("mine", "catalogue", "d1", 7, "", "abc1234", "disproven"),
    date="2026-11-19",
    holdfast="0.1.0",
    runtime="mine 1.2",
    network="loopback only",
    seconds=61.4,
    tried={**dict.fromkeys(catalogue(), "proven"), "crash": "disproven", "pause": "inconclusive"},
    unproven=[LOST, UNCLEAR],
)
CATALOGUE.tried.pop("upgrade")
CATALOGUE.left_out["upgrade"] = "there is no next version"
EXPLORE = replace(
    CATALOGUE,
    part="explore",
    budget="2m",
    tried={"answers": "proven", "known": "disproven"},
    unproven=[FORGOTTEN],
    left_out={},
    explored={"histories": 12, "operations": 340, "kills": 31, "stops": 4, "pauses": 5},
)
RUNS: Runs = {("mine", "catalogue"): CATALOGUE, ("mine", "explore"): EXPLORE}
WHOSE = Judgement(
    "runtime", "mine 1.2", "It writes after it answers.", "python see_it.py", "https://example.org/issue/1"
)
JUDGED: Judgements = {("mine", "catalogue", "crash"): WHOSE}
BROKEN = CellRun("ill", "catalogue", "d2", 7, "", "abc1234", FAULT, fault="pip found nothing")


def page_of(runs: Runs = RUNS, judged: Judgements = JUDGED, templates: tuple[str, ...] = ("mine", "other")) -> str:
    return put_into(f"before\n{BEGIN}\nformer\n{END}\nafter\n", "matrix.svg", templates, runs, judged)


def section(page: str, title: str) -> str:
    return page.split(f"## {title}\n")[1].split("\n## ", maxsplit=1)[0]


def test_the_matrix_stands_between_its_marks_and_takes_the_place_of_the_old_one() -> None:
    page = page_of()
    assert page.startswith(f"before\n{BEGIN}\n") and page.endswith(f"\n{END}\nafter\n")
    assert "former" not in page
    assert put_into(page, "matrix.svg", ("mine", "other"), RUNS, JUDGED) == page


def test_a_row_tells_version_gates_catalogue_and_what_exploring_found() -> None:
    (row,) = re.findall(r"^\| \[mine\].*$", page_of(), re.M)
    proven = len(catalogue()) - 3
    assert "| mine 1.2 | 4 proven |" in row
    assert f"| {proven} proven, 1 disproven, 1 inconclusive, 1 left out | known violated in 12 histories |" in row


def test_every_proof_has_its_verdict_and_those_left_out_their_reason() -> None:
    table = section(page_of(), "Proof by proof")
    for proof in catalogue():
        said = {"crash": "**disproven**", "pause": "inconclusive", "upgrade": "–"}.get(proof, "proven")
        assert f"| [{proof}](proofs.md#{proof}) | {said} |" in table
    assert "- upgrade (catalogue; all): there is no next version" in section(page_of(), "What was left out, and why")


def test_a_reason_to_leave_something_out_stands_once_for_all_templates_that_have_it() -> None:
    other = replace(CATALOGUE, template="other", left_out={**CATALOGUE.left_out, "peer": "it has no peer"})
    third = replace(CATALOGUE, template="third", left_out={})
    runs: Runs = {**RUNS, ("other", "catalogue"): other, ("third", "catalogue"): third}
    told = section(page_of(runs, templates=("mine", "other", "third")), "What was left out, and why").strip()
    assert told.splitlines() == [
        "- upgrade (catalogue; mine, other): there is no next version",
        "- peer (catalogue; other): it has no peer",
    ]


def test_what_exploring_claims_is_told_and_how_much_it_did() -> None:
    told = section(page_of(), "What exploring tried")
    assert "| mine | 12 | 340 | 31, 4, 5 | proven | **disproven** |" in told
    assert "- *known*: what was acknowledged is known" in told and "- *tasks*" not in told


def test_a_disproof_is_shown_with_its_history_and_whose_defect_it_is() -> None:
    crash, known = section(page_of(), "What was disproven").split("### ")[1:]
    assert "the runtime's** (mine 1.2). It writes after it answers." in crash
    assert "https://example.org/issue/1" in crash and "python see_it.py" in crash
    assert " 1. say it\n 2. SIGKILL\nexpected: Ada\ngot: I | do not know\n" in crash
    assert "holdfast prove --template mine --only crash --seed 7" in crash
    assert "mine: known (explored)" in known and "“My city is Rome.”" in known
    assert "Whose defect: **not judged yet**" in known
    assert "prove explore --template mine --profile all --budget 2m --seed 7" in known


def test_a_judgement_about_another_version_is_none() -> None:
    older: Judgements = {("mine", "catalogue", "crash"): replace(WHOSE, version="mine 1.1")}
    assert page_of(judged=older).count("not judged yet") == 2
    assert needless(older, RUNS.values()) == ["mine.catalogue.crash"]
    assert needless(JUDGED, RUNS.values()) == []


def test_every_disproof_is_shown_judged_or_not() -> None:
    two = replace(CATALOGUE, unproven=[LOST, replace(LOST, name="long")])
    for judged in (JUDGED, {}):
        page = page_of({("mine", "catalogue"): two}, judged)
        assert re.findall("^### (.*)$", page, re.M) == ["mine: crash", "mine: long"]


def test_what_was_not_run_is_named_as_not_run() -> None:
    page = page_of({("mine", "catalogue"): CATALOGUE, ("ill", "catalogue"): BROKEN}, templates=("ill", "mine", "other"))
    assert re.findall(r"^\| \[other\].*$", page, re.M)[0].count("not run") == 3
    assert re.findall(r"^\| \[ill\].*$", page, re.M)[0].count("could not be run") == 2
    assert "ill (catalogue): pip found nothing" in section(page, "What could not be judged")
    assert "Not run: ill (catalogue), ill (explore), mine (explore), other (catalogue), other (explore)." in page
    assert "mine, pause (catalogue): no answer came" in page


def test_nothing_that_was_said_makes_markup_of_its_own() -> None:
    evil = replace(LOST, reason="| </td> [x](y) `", got="```\n# head")
    page = page_of({("mine", "catalogue"): replace(CATALOGUE, unproven=[evil])})
    assert "\\| &lt;/td&gt; \\[x\\](y) \\`" in page
    assert "````text" in page


def test_the_picture_has_a_square_for_each_proof_and_says_it_in_words() -> None:
    drawn = ElementTree.fromstring(picture(("mine", "ill", "other"), {**RUNS, ("ill", "catalogue"): BROKEN}))
    titles = [title.text or "" for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0].startswith("The matrix. mine: ")
    assert "explored: 12 histories, known violated" in titles[0] and titles[0].endswith("other: not run")
    assert "mine, crash: disproven" in titles and "mine, name: proven" in titles and "mine, upgrade: left out" in titles
    assert sum(title.startswith("mine, ") for title in titles) == len(catalogue())
    assert "ill, crash: not run" in titles and "other, crash: not run" in titles
    signs = list(drawn.iter("{http://www.w3.org/2000/svg}path"))
    assert len(signs) == len(catalogue()) + 4, "a template that was not run has squares without a sign"
    assert "prefers-color-scheme: dark" in picture(("mine",), RUNS)


def test_the_newest_run_of_a_cell_counts_and_a_fault_only_where_there_is_nothing_else() -> None:
    later = replace(CATALOGUE, seed=8, unproven=[])
    fault = replace(BROKEN, template="mine")
    lines = [json.loads(json.dumps(run.document())) for run in (CATALOGUE, EXPLORE, later, fault, BROKEN)]
    assert newest(lines) == {
        ("mine", "catalogue"): later,
        ("mine", "explore"): EXPLORE,
        ("ill", "catalogue"): BROKEN,
    }


@pytest.mark.parametrize(
    "key",
    [
        CellKey("mine", "catalogue", "changed", 7, ""),
        CellKey("mine", "catalogue", "d1", 8, ""),
        CellKey("mine", "explore", "d1", 7, "10m"),
        CellKey("ill", "catalogue", "d2", 7, ""),
        CellKey("other", "catalogue", "d1", 7, ""),
    ],
)
def test_what_has_changed_or_could_not_be_run_is_to_be_run_and_nothing_else(key: CellKey) -> None:
    assert missing([CATALOGUE.key, EXPLORE.key, key], [CATALOGUE, EXPLORE, BROKEN]) == [key]


def test_a_judgement_blames_the_runtime_or_the_wrapper(tmp_path: Path) -> None:
    file = tmp_path / "matrix.toml"
    words = 'version = "mine 1.2"\nsays = "It forgets."\nby_hand = "look"\n'
    file.write_text(f'[mine.explore.known]\nwhose = "wrapper"\n{words}')
    assert judgements(file) == {("mine", "explore", "known"): Judgement("wrapper", "mine 1.2", "It forgets.", "look")}
    file.write_text(f'[mine.explore.known]\nwhose = "weather"\n{words}')
    with pytest.raises(ValueError, match="not the weathers"):
        judgements(file)


def test_what_is_published_is_made_of_the_published_results_and_judgements() -> None:
    with (DOCS / "matrix.jsonl").open() as file:
        runs = newest(documents(file))
    judged, page = judgements(DOCS / "matrix.toml"), (DOCS / "matrix.md").read_text()
    templates = sorted({*template_names(), *(template for template, _ in runs)})
    written = "make matrix ARGS=--render writes it"
    assert put_into(page, "matrix.svg", templates, runs, judged) == page, written
    assert picture(templates, runs) == (DOCS / "matrix.svg").read_text(), written
    assert needless(judged, runs.values()) == []
