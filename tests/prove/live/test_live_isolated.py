"""`holdfast prove live --isolated`: a gateway of its own on a legacy store, on both engines, and each broken gateway.

Every kind is found at the step that should see it, by the assertion that should, and at no other.
"""

import json
from pathlib import Path

import pytest
from tests.prove.live.live_prover import evidence, not_proven, prove_live

from holdfast.prove.live.broken.expected import KINDS
from holdfast.prove.live.broken.kinds import PROXIES
from holdfast.prove.live.steps import SCENARIO

FILES = {
    *("summary.json", "store-before.json", "store-after.json", "legacy-files.json", "gateway-log-scan.json"),
    *("events.jsonl", "report.html", "junit.xml", "summary.md"),
}


def test_an_isolated_gateway_is_proven_and_leaves_its_evidence(tmp_path: Path) -> None:
    artifacts = tmp_path / ".artifacts"
    done = prove_live("--isolated", artifacts=artifacts)
    summary = done.summary
    assert (done.exit_code, not_proven(summary)) == (0, {}), done.stderr
    assert [step["name"] for step in summary["proofs"]] == ["startup-import", *(step.name for step in SCENARIO)]
    folder = artifacts / "live" / "latest"
    assert {path.name for path in folder.iterdir()} >= FILES
    assert (artifacts / ".gitignore").read_text() == "*\n"
    assert summary["session_key"] == f"agent:main:live-proof:{folder.resolve().name}"
    assert summary["versions"]["holdfast"] == summary["versions"]["gateway"]
    after = evidence(artifacts, "store-after.json")
    assert {row["table"] for row in after["left"]} >= {"sessions", "archives", "archived_events", "usage", "audit"}
    assert evidence(artifacts, "legacy-files.json")["changed"] == []
    assert [line for line in evidence(artifacts, "gateway-log-scan.json")["findings"] if not line["allowed"]] == []
    assert not list(folder.glob("*.zip"))
    events = (folder / "events.jsonl").read_text()
    told = [json.loads(line) for line in events.splitlines()]
    doctor = [(each["proof"], each["step"], each["ended"]) for each in told if each["event"] == "doctor"]
    assert doctor == [
        ("preflight", "doctor validate", "0"),
        ("", "doctor inspect", "0"),
        ("", "doctor validate", "0"),
    ]
    assert not list(folder.glob("doctor-*"))
    assert [each["n"] for each in told] == list(range(1, len(told) + 1))
    assert "in one short sentence" not in events and "You said" not in events


@pytest.mark.long(seconds=10)
def test_an_isolated_gateway_on_postgresql_is_proven(tmp_path: Path, empty_postgres_url: str) -> None:
    done = prove_live("--isolated", "--store", empty_postgres_url, artifacts=tmp_path)
    assert (done.exit_code, not_proven(done.summary)) == (0, {}), done.stderr


def test_there_is_a_row_for_every_kind_also_on_the_page() -> None:
    assert list(KINDS) == list(PROXIES)
    page = (Path(__file__).parents[3] / "docs" / "prove-live.md").read_text()
    for name, kind in KINDS.items():
        assert name == "none" or f"| `{name}` | {kind.defect} | {kind.step} |" in page


@pytest.mark.long(seconds=10)
@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_gateway_is_found_at_the_step_that_should_see_it(kind: str, tmp_path: Path) -> None:
    expected = KINDS[kind]
    done = prove_live("--isolated", "--target", f"broken:{kind}", artifacts=tmp_path)
    summary = done.summary
    found = not_proven(summary)
    disproven = {name for name, verdict in found.items() if verdict == "disproven"}
    assert disproven == {expected.step} - {""}, summary["proofs"]
    assert {name for name, verdict in found.items() if verdict == "not reached"} == expected.not_reached
    assert set(found) == disproven | expected.not_reached
    by_name = {step["name"]: step for step in summary["proofs"]}
    if expected.step:
        assert by_name[expected.step]["assertion"] == expected.assertion


@pytest.mark.long(seconds=10)
@pytest.mark.parametrize(
    "kind", ["forgets-identities", "restores-elsewhere", "gives-up-at-the-start", "archives-nothing"]
)
def test_a_broken_gateway_on_postgresql_is_found_as_well(kind: str, tmp_path: Path, empty_postgres_url: str) -> None:
    done = prove_live("--isolated", "--target", f"broken:{kind}", "--store", empty_postgres_url, artifacts=tmp_path)
    found = {name: verdict for name, verdict in not_proven(done.summary).items() if verdict == "disproven"}
    assert found == {KINDS[kind].step: "disproven"}, done.summary["proofs"]
