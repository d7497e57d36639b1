"""Every broken runtime is disproven by exactly the proofs that should, and the honest one by none.

Here each kind meets the proofs that disprove it and some that do not; `make chaos ARGS="kinds"` puts all proofs to all.
"""

from pathlib import Path

import pytest
from tests.support.kind_results import BEGIN, END, KindResults, newest, put_into, table
from tests.support.kind_runs import Disproof, KindRun, WireName, expected_verdicts, first_disproof, run_kind

from holdfast.prove.broken.agent import stated
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.broken.messages import UserWords
from holdfast.prove.runtime.proofs import catalogue

NEIGHBOURS = ("name", "isolation", "memory")
MANY = 4
# What takes long, and what shows the most: the others are in the counted runs.
QUICK = ("commits-with-the-next", "runs-twice", "reads-backwards", "forgets-questions", "forgets-at-upgrade")
WIRES: tuple[WireName, ...] = ("0.3", "1.0")
RUNS = [(kind, WIRES[place % 2]) for place, kind in enumerate(KINDS) if kind != "none"]


def asked_of(kind: str) -> list[str]:
    """The proofs that a kind is to be found by, a few of them where they are many, and some neighbours."""
    expected = KINDS[kind]
    found_by = [name for name in catalogue() if name in expected.disproven][:MANY]
    return [*found_by, *(name for name in NEIGHBOURS if name not in expected.disproven | expected.not_reached)]


@pytest.mark.parametrize(
    ("kind", "wire"), [pytest.param(*run, marks=() if run[0] in QUICK else pytest.mark.long) for run in RUNS]
)
async def test_a_kind_is_disproven_by_the_proofs_that_should_and_not_by_their_neighbours(
    kind: str, wire: WireName, tmp_path: Path
) -> None:
    ran = await run_kind(kind, wire, asked_of(kind), tmp_path)
    assert ran.wrong == []
    assert ran.first is not None or KINDS[kind].explore


@pytest.mark.parametrize("wire", [pytest.param("0.3", marks=pytest.mark.long), "1.0"])
async def test_the_honest_one_is_proven(wire: WireName, tmp_path: Path) -> None:
    """It has no leases that would have to end while it is paused."""
    ran = await run_kind("none", wire, (), tmp_path, pause=0.5)
    assert ran.wrong == []
    assert list(ran.verdicts) == list(catalogue())
    assert ran.first is None


@pytest.mark.long(seconds=20)
@pytest.mark.parametrize("kind", ["commits-with-the-next", "ack-before-commit", "memory-only"])
async def test_the_whole_catalogue_side_by_side_hides_nothing_of_what_a_restart_loses(
    kind: str, tmp_path: Path
) -> None:
    ran = await run_kind(kind, "1.0", (), tmp_path)
    assert ran.wrong == []
    assert ran.verdicts == expected_verdicts(kind, catalogue())


def test_every_kind_has_its_place_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "broken-targets.md").read_text()
    listed = page.partition("## How soon")[0]
    assert [kind for kind in KINDS if f"`{kind}`" not in listed] == ["none"]


def test_the_published_table_is_that_of_the_published_results_and_all_is_as_expected() -> None:
    docs = Path(__file__).parents[2] / "docs"
    results, page = newest(docs / "broken-targets.jsonl"), (docs / "broken-targets.md").read_text()
    assert put_into(page, results) == page
    assert [run.wrong for run in results.runs if run.wrong] == []
    for run in results.runs:
        disproven = frozenset(name for name, verdict in run.verdicts.items() if verdict == "disproven")
        assert (run.kind, disproven) == (run.kind, KINDS[run.kind].disproven)


def test_every_kind_of_wrong_is_seen_by_some_proof_or_by_exploring() -> None:
    unseen = {kind for kind, expected in KINDS.items() if not expected.disproven}
    assert unseen == {"none", *(kind for kind, expected in KINDS.items() if expected.explore)}
    assert len(KINDS) - len(unseen) >= 45
    assert all(expected.source for kind, expected in KINDS.items() if kind != "none")
    assert set(QUICK) <= set(KINDS)


def test_what_is_expected_of_a_kind_is_said_of_the_proofs_that_are_asked() -> None:
    assert expected_verdicts("task-keyed", ["name", "memory", "crash"]) == {
        "name": "disproven",
        "memory": "proven",
        "crash": "not reached",
    }


RUNS_OF_SOME = [
    KindRun("overwrites", "1.0", {"parallel": "disproven"}, [], Disproof("parallel", 3.0, 4)),
    KindRun("overwrites", "0.3", {"parallel": "disproven"}, [], Disproof("parallel", 5.0, 6)),
    KindRun("evicts-the-oldest", "1.0", {}, [], Disproof("explore: known", 20.0, 3)),
    KindRun("none", "1.0", {}, [], None),
]


def test_the_table_tells_who_found_a_kind_and_the_middle_of_what_it_took() -> None:
    assert table(RUNS_OF_SOME).splitlines()[2:] == [
        "| `overwrites` | parallel | parallel | 4.0 s | 5 |",
        "| `evicts-the-oldest` | explore | explore: known | 20.0 s | 3 |",
        "| `none` | nothing | – | – | – |",
    ]


def test_the_length_of_a_disproof_is_that_of_the_proof_that_was_first() -> None:
    def event(proof: str, event: str, at: float, **details: str) -> dict[str, object]:
        return {"proof": proof, "event": event, "at": at, **details}

    events = [
        event("name", "request", 0.1),
        event("parallel", "request", 0.2),
        event("parallel", "upload", 0.3),
        event("name", "verdict", 0.4, verdict="proven"),
        event("parallel", "verdict", 0.5, verdict="disproven"),
        event("long", "verdict", 0.6, verdict="disproven"),
    ]
    assert first_disproof(events) == Disproof("parallel", 0.5, 2)
    assert first_disproof(events[:4]) is None


def test_results_are_gone_on_with_and_what_was_wrong_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "kinds.jsonl"
    first = KindResults(file, seed=7)
    first.add(RUNS_OF_SOME[0])
    first.add(KindRun("none", "1.0", {"long": "inconclusive"}, ["none: long is inconclusive"], None))
    KindResults(file, seed=8).add(RUNS_OF_SOME[2])
    again = KindResults(file, seed=7)
    assert again.missing([("none", "1.0", ()), ("overwrites", "1.0", ()), ("overwrites", "0.3", ())]) == [
        ("none", "1.0", ()),
        ("overwrites", "0.3", ()),
    ]
    again.add(RUNS_OF_SOME[3])
    assert KindResults(file, seed=7).missing([("none", "1.0", ())]) == []
    assert newest(file).runs == [RUNS_OF_SOME[3], RUNS_OF_SOME[0]]


def test_the_table_goes_between_its_marks_with_how_it_was_measured(tmp_path: Path) -> None:
    results = KindResults(tmp_path / "kinds.jsonl", seed=7)
    for run in RUNS_OF_SOME:
        results.add(run)
    page = put_into(f"before\n{BEGIN}\nold\n{END}\nafter\n", results)
    assert page.startswith(f"before\n{BEGIN}\n4 runs over the wires 0.3 and 1.0, 4 of them exactly as expected, with")
    assert 'make chaos ARGS="kinds --seed 7"' in page
    assert page.endswith(f"| explore: known | 20.0 s | 3 |\n{END}\nafter\n")


def test_a_message_that_wants_something_forgotten_states_that_too() -> None:
    said = UserWords("My pet is Rex. Please forget my lucky number.")
    assert stated(said) == {"pet", "lucky number"}
