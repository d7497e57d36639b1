"""Proofs: runs with their reports, two of them compared, and how each proof came out over time."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard import samples
from tests.dashboard.browsing import needs_chromium
from tests.dashboard.screen import Screen, new_screen
from tests.gateway.process import running
from tests.prove.folders import HOSTILE

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True


@pytest.fixture(scope="module")
def runs(client: httpx2.Client) -> Iterator[list[str]]:
    """Six runs, oldest first."""
    yield samples.post_runs(client, 6)


def test_without_a_run_it_says_how_one_comes_here(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with running(tmp_path_factory.mktemp("empty")) as gateway, new_screen(browser, gateway.url) as screen:
        screen.open("proofs")
        screen.sees("No run has been posted yet")
        screen.sees(f"holdfast prove --post {gateway.url} --badge proven.svg")
        screen.sees("holdfast serve --proofs .artifacts")


def test_the_report_has_claims_reasons_remedies_layers_and_a_line_to_copy(screen: Screen, runs: list[str]) -> None:
    screen.open("proofs")
    row = screen.page.get_by_role("listitem").filter(has_text="bundled")
    expect(row.first).to_be_visible()
    screen.open(f"proofs/{runs[1]}")
    claims = screen.region("Claims")
    expect(claims.get_by_text(samples.CLAIMS["crash"])).to_be_visible()
    for words in ("the second answer does not know the name", "Read the conversation by its context, not by its task."):
        expect(claims.get_by_text(words).first).to_be_visible()
    layers = screen.region("Where it broke")
    expect(layers).to_contain_text("Got one turn")
    expect(screen.region("Left out")).to_contain_text("no next version was given")
    claims.get_by_role("button", name="Copy the command that shows it").first.click()
    assert screen.copied.startswith("curl -s http://127.0.0.1:9000/a2a")
    restart = claims.get_by_role("group").filter(has_text="restart")
    expect(restart.get_by_text("as claimed")).to_be_hidden()
    restart.locator("summary").press("Enter")
    expect(restart.get_by_text("as claimed")).to_be_visible()


def test_two_runs_are_chosen_and_compared(screen: Screen, runs: list[str]) -> None:
    screen.open("proofs")
    boxes = screen.page.get_by_role("checkbox")
    expect(boxes).to_have_count(len(runs))
    boxes.nth(0).check()
    boxes.nth(4).check()
    screen.button("Compare two").click()
    screen.heading("Two runs compared")
    assert screen.page.url.endswith(f"#/proofs/{runs[5]}?with={runs[1]}")
    table = screen.page.get_by_role("table", name="Claims in both runs")
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="crash")).to_contain_text("better")
    expect(rows.filter(has_text="duplicate")).to_contain_text("better")
    screen.button("All claims").click()
    expect(rows).to_have_count(6)
    screen.page.get_by_label("Compare with").select_option(runs[4])
    expect(rows.filter(has_text="crash")).to_contain_text("better")
    assert runs[4] in screen.page.url


def test_a_proof_that_goes_to_and_fro_is_called_flaky(screen: Screen, runs: list[str]) -> None:
    screen.open("proofs")
    strips = screen.region("Over time: bundled")
    crash = strips.get_by_role("listitem").filter(has_text="crash")
    expect(crash.get_by_role("img")).to_have_attribute("aria-label", "crash: proven 4 times, disproven 2 times")
    expect(crash).to_contain_text("flaky: changed 4 times")
    expect(strips.get_by_role("listitem").filter(has_text="duplicate")).to_contain_text("changed once")
    expect(strips.get_by_role("listitem").filter(has_text="restart")).not_to_contain_text("changed")
    assert len(runs) == crash.locator(".cell").count()


def test_what_was_posted_is_text(screen: Screen, client: httpx2.Client) -> None:
    bad = dict.fromkeys(("claim", "reason", "expected", "got", "hint", "remedy", "see", "curl"), HOSTILE)
    run = samples.summary({}, at=datetime.now(UTC), target=HOSTILE) | {
        "verdict": "disproven",
        "proofs": [{"name": HOSTILE[:150], "verdict": "disproven", **bad}],
        "left_out": {HOSTILE: HOSTILE},
        "layers": [{"name": HOSTILE, "state": "broken", "expected": HOSTILE, "got": HOSTILE, "curl": HOSTILE}, 7, "x"],
        "versions": [HOSTILE],
        "failed_assertion": HOSTILE,
        "violations": [{"claim": HOSTILE, "reason": HOSTILE, "steps": [HOSTILE, 3, None]}],
    }
    found = samples.told(client.post("/api/proofs", json=run))["proofId"]
    for place in ("proofs", f"proofs/{found}", f"proofs/{found}?with={found}"):
        screen.open(place)
        expect(screen.page.locator("main").get_by_text("onclick").first).to_be_visible()
        assert screen.page.title().endswith(" · Holdfast")
        assert screen.page.locator("main img, main script, main b").count() == 0


def test_a_run_that_is_not_there_is_said(screen: Screen) -> None:
    screen.open("proofs/p-00000000000000000000000000000000")
    expect(screen.page.get_by_role("alert")).to_be_visible()


def test_runs_of_a_folder_are_shown_to_operators(browser: Browser, tmp_path: Path) -> None:
    run = samples.summary({"crash": "disproven", "name": "proven"}, at=datetime.now(UTC), target="from a folder")
    place = tmp_path / "evidence" / "prove" / "2026-11-18"
    place.mkdir(parents=True)
    (place / "summary.json").write_text(json.dumps(run))
    (place / "report.html").write_text("<script>document.title = 'taken'</script>")
    with (
        running(tmp_path / "data", "--proofs", str(tmp_path / "evidence")) as gateway,
        new_screen(browser, gateway.url) as screen,
    ):
        screen.open("proofs")
        screen.page.get_by_role("link", name="from a folder").click()
        expect(screen.region("Where it broke")).to_contain_text("Got one turn")
        expect(screen.region("Claims")).to_contain_text(samples.CLAIMS["crash"])
