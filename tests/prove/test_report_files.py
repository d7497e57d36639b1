"""junit.xml, summary.md and what a CI system is told: nothing that is not proven looks green, nothing is forged."""

import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import pytest
from tests.prove.folders import HOSTILE, hostile, outcome, summary, write

from holdfast.prove import report
from holdfast.prove.report import ci
from holdfast.prove.report.junit import junit
from holdfast.prove.report.markdown import markdown
from holdfast.prove.report.run_record import read
from holdfast.prove.view import terminal


def cases(document: dict[str, Any]) -> dict[str, str]:
    """What each test case of the JUnit XML is marked with."""
    (suite,) = Tree.fromstring(junit(document))
    return {str(case.get("name")): case[0].tag if len(case) else "" for case in suite.iter("testcase")}


def test_each_verdict_has_its_mark_in_junit() -> None:
    document = summary(
        outcome("name"),
        outcome("crash", "disproven", expected="blue", got="red", curl="curl x"),
        outcome("parallel", "inconclusive"),
        outcome("duplicate", "inconclusive", fault=True),
        outcome("restart", "not reached"),
        left_out={"peer": "there is none"},
    )
    marks = {"turn": "", "name": "", "crash": "failure", "parallel": "error", "duplicate": "error"}
    assert cases(document) == marks | {"restart": "skipped", "peer": "skipped"}
    (suite,) = Tree.fromstring(junit(document))
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["7", "1", "2", "2"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "disproven: so"
    assert failure.text == "expected: blue\ngot: red\ncurl: curl x"


@pytest.mark.parametrize(
    "document",
    [
        summary(verdict="fault", exit_code=2),
        summary(outcome("crash", "not reached"), verdict="fault", exit_code=2),
        summary(outcome("name"), verdict="inconclusive", exit_code=3),
    ],
)
def test_a_run_that_is_not_proven_is_green_nowhere(document: dict[str, Any]) -> None:
    assert {"failure", "error"} & set(cases(document).values())
    assert ci.annotations(document)
    assert "PROVEN" not in markdown(document)


def test_what_xml_cannot_write_is_escaped() -> None:
    wrong = outcome("crash", "disproven", reason="\x00\x1b\ufffe\ud7ff<>&", got="\x08]]>\n\U0001f600")
    (suite,) = Tree.fromstring(junit(summary(wrong)))
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "disproven: \\x00\\x1b\\ufffe\\ud7ff<>&"
    assert failure.text == "got: \\x08]]>\n\U0001f600"


def test_hostile_words_stay_words_in_every_file(tmp_path: Path) -> None:
    report.write(hostile(tmp_path))
    (suite,) = Tree.parse(tmp_path / "junit.xml").getroot()
    assert {element.tag for element in suite.iter()} == {
        *("testsuite", "properties", "property", "testcase", "failure", "skipped"),
    }
    page = (tmp_path / "summary.md").read_text()
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", page, flags=re.M | re.S)
    assert "<script" not in outside
    assert "<img" not in outside
    assert all(line.count("|") - line.count("\\|") == 5 for line in outside.splitlines() if line.startswith("| "))
    assert "\x1b" not in page
    assert "````text" in page


def test_markdown_has_the_verdict_a_table_and_the_grounds() -> None:
    wrong = outcome("crash", "disproven", reason="a | b", expected="blue", got="red")
    page = markdown(summary(outcome("name"), wrong, layers=[{"name": "store", "state": "broken", "got": "no rows"}]))
    assert page.startswith("## DISPROVEN: a target\n")
    assert "| name | ✅ proven | 0.5 | so |" in page
    assert "| crash | ❌ disproven | 0.5 | a \\| b |" in page
    assert "got:\n\n```text\nred\n```" in page
    assert "### layer store: broken" in page


def test_the_remedy_is_told_wherever_a_disproof_is(tmp_path: Path) -> None:
    remedy, see = "Keep the history by contextId on disk before the answer is sent.", "docs/proofs.md#crash"
    document = summary(outcome("crash", "disproven", remedy=remedy, see=see))
    folder = write(tmp_path, document, [])
    report.write(folder)
    shown = io.StringIO()
    terminal.show(document, folder / "report.html", shown)
    files = [(folder / name).read_text() for name in ("report.html", "junit.xml", "summary.md", "summary.json")]
    for told in (*files, shown.getvalue(), "".join(ci.annotations(document))):
        assert remedy in told
        assert see in told


def test_markdown_names_the_seeds_of_all_runs() -> None:
    page = markdown(summary(outcome("name"), runs=[{"seed": 7}, {"seed": 8}, {"seed": 9}]))
    assert "; A2A 1.0, --seed 7 to 9.\n" in page
    assert "; A2A 1.0, --seed 7.\n" in markdown(summary(outcome("name")))


def test_a_ci_system_gets_a_note_for_each_proof_that_is_not_proven(tmp_path: Path) -> None:
    said = io.StringIO()
    wrong = outcome("crash", "disproven", reason="100% lost\nagain", expected="blue", got="::set-output::x")
    document = summary(outcome("name"), wrong, outcome("parallel", "inconclusive"))
    ci.tell(document, said, {"GITHUB_ACTIONS": "true"})
    first, second = said.getvalue().splitlines()
    assert first == "::error title=crash%3A disproven::100%25 lost%0Aagain%0Aexpected: blue%0Agot: ::set-output::x"
    assert second.startswith("::error title=parallel%3A inconclusive::")


def test_elsewhere_there_are_no_notes_and_the_step_summary_is_added_to(tmp_path: Path) -> None:
    said, page = io.StringIO(), tmp_path / "step.md"
    page.write_text("before\n")
    ci.tell(summary(outcome("crash", "disproven")), said, {"GITHUB_STEP_SUMMARY": str(page)})
    assert said.getvalue() == ""
    assert page.read_text().startswith("before\n## DISPROVEN")


def test_a_step_summary_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    said = io.StringIO()
    ci.tell(summary(outcome("name")), said, {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert "could not be written" in said.getvalue()


def test_what_is_read_back_has_no_secrets(tmp_path: Path) -> None:
    recorded = read(hostile(tmp_path))
    assert recorded.summary["proofs"][0]["got"] == HOSTILE
