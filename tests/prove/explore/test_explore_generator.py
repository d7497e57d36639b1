"""Histories: the same from the same seed, written and read again, and with everything in them sooner or later."""

import json
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.prove.explore.histories import history, wording
from holdfast.prove.explore.histories.coverage import Coverage
from holdfast.prove.explore.histories.draft import OWN_FACTS, Bounds
from holdfast.prove.explore.histories.generator import generate
from holdfast.prove.explore.histories.operations import (
    FAULTS,
    MESSAGES,
    Again,
    Ask,
    Chat,
    Kill,
    KillStart,
    Pause,
    Stop,
    Tell,
    groups,
    kind,
)
from holdfast.prove.explore.histories.values import Form, Value, draw, shows

KINDS = {
    *("tell", "take back", "ask", "send file", "ask file", "save", "recall", "append", "chat", "again", "cancel"),
    *("follow", "look up", "stop", "kill", "kill start", "pause", "idle"),
}


def test_the_same_seed_gives_the_same_histories() -> None:
    assert [generate(5, n, Bounds()) for n in range(5)] == [generate(5, n, Bounds()) for n in range(5)]
    assert generate(5, 0, Bounds()) != generate(6, 0, Bounds())
    assert generate(5, 0, Bounds()) != generate(5, 1, Bounds())


def test_everything_is_done_sooner_or_later() -> None:
    courses = [generate(1, number, Bounds()) for number in range(150)]
    assert {kind(operation) for course in courses for operation in course.operations} == KINDS
    assert {getattr(operation, "form", Form.WORD) for c in courses for operation in c.operations} == set(Form)
    coverage = Coverage()
    for course in courses:
        coverage.add(course)
    assert coverage.histories == 150
    assert len(coverage.situations) > 300


def test_messages_of_a_history_have_numbers_of_their_own() -> None:
    for number in range(40):
        messages = [op.message for op in generate(2, number, Bounds()).operations if isinstance(op, MESSAGES)]
        assert len(messages) == len(set(messages))


@pytest.mark.parametrize("faults", [frozenset[str](), frozenset({"stop"}), frozenset({"kill"}), frozenset({"pause"})])
def test_only_the_faults_that_are_asked_for_happen(faults: frozenset[str]) -> None:
    allowed = {"stop": {"stop"}, "kill": {"kill", "kill start"}, "pause": {"pause"}}
    happened = {
        kind(operation)
        for number in range(40)
        for operation in generate(3, number, Bounds(faults=faults)).operations
        if isinstance(operation, FAULTS)
    }
    assert happened == {name for fault in faults for name in allowed[fault]}


def test_only_what_is_asked_for_is_done() -> None:
    bounds = Bounds(families=frozenset({"continuity"}))
    done = {kind(operation) for number in range(60) for operation in generate(3, number, bounds).operations}
    assert not done & {"send file", "ask file", "save", "recall", "append", "follow"}
    assert {"tell", "ask", "kill", "again"} <= done


def test_a_history_is_read_from_a_file_as_it_was_written(tmp_path: Path) -> None:
    for number in range(20):
        course = generate(4, number, Bounds())
        history.write(course, tmp_path / "history.json")
        assert history.read(tmp_path / "history.json") == course


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"format": 9, "course": {"seed": 1, "number": 0, "operations": []}}']
)
def test_a_file_without_a_history_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput):
        history.read(path)
    with pytest.raises(InvalidInput):
        history.read(tmp_path / "none.json")


def test_operations_that_join_begin_together() -> None:
    for number in range(20):
        operations = generate(4, number, Bounds()).operations
        found = groups(operations)
        assert [place for group in found for place in group] == list(range(len(operations)))
        assert all(operations[place].joins for group in found for place in group[1:])
        assert not any(operations[group[0]].joins for group in found[1:])


def test_a_value_is_known_by_all_of_its_marks_and_by_no_others() -> None:
    values = [draw(1, number, form) for number, form in enumerate(Form, 1)]
    for value in values:
        answer = f"Your city is {value.text}."
        assert value.known_in(answer)
        assert value.known_in(answer.upper())
        assert not any(other.hinted_in(answer) for other in values if other != value)
    assert not Value("one two", ("one", "two")).known_in("one")
    assert Value("one two", ("one", "two")).hinted_in("one")


def test_a_plain_mark_is_a_word_of_its_own() -> None:
    assert shows("It is Zq7a.", "Zq7a")
    assert shows("It is _zq7a_.", "Zq7a")
    assert not shows("It is Zq7ab.", "Zq7a")
    assert shows("龍馬花鳥是", "花鳥")


def test_contexts_have_ids_of_their_own_however_alike() -> None:
    ids = [wording.context_id(number, "tag") for number in range(60)]
    assert len(set(ids)) == len(ids)
    assert ids[4].lower() == ids[0].lower()
    assert ids[10].strip() == ids[0]
    assert ids[7][:60] == ids[8][:60]


def test_what_was_told_is_asked_for_elsewhere_too() -> None:
    for number in range(30):
        operations = generate(4, number, Bounds(families=frozenset({"continuity"}))).operations
        told = {(op.context, op.fact) for op in operations if isinstance(op, Tell)}
        elsewhere = [op for op in operations if isinstance(op, Ask) and (op.context, op.fact) not in told]
        facts = {fact for _, fact in told}
        assert any(op.fact in facts for op in elsewhere) or not told


def message(number: int) -> dict[str, object]:
    return {"do": "chat", "message": number, "context": 0, "turns": 1}


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        ([], "nothing to do"),
        ([message(1), message(1)], "message 1 twice"),
        ([message(100_001)], "message 100001"),
        ([{**message(1), "turns": 0}], "turns"),
        ([{**message(1), "context": -1}], "context"),
        ([{"do": "kill", "after": -5}], "after"),
    ],
)
def test_a_history_that_cannot_be_performed_is_not_read(
    operations: list[dict[str, object]], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"format": 1, "course": {"seed": 1, "number": 0, "operations": operations}}))
    with pytest.raises(InvalidInput, match=said):
        history.read(path)


def test_only_faults_that_were_done_are_counted() -> None:
    course = generate(1, 1, Bounds())
    coverage = Coverage()
    coverage.add(course)
    assert (coverage.kills, coverage.stops, coverage.pauses) == (0, 0, 0)
    coverage.add(course, (Kill(), KillStart(percent=1), Stop(), Pause(milliseconds=1)))
    assert (coverage.kills, coverage.stops, coverage.pauses) == (3, 1, 1)


def test_what_was_told_in_a_turn_that_is_cut_is_asked_for_again_and_again() -> None:
    """Three questions in a row, in half of the histories: the first may settle it, the others must agree."""
    asked_for = 0
    for number in range(60):
        operations = generate(6, number, Bounds()).operations
        again = {op.message for op in operations if isinstance(op, Again)}
        cut = {(op.context, op.fact) for op in operations if isinstance(op, Tell) and op.fact in OWN_FACTS}
        kept = [op for op in operations if isinstance(op, Tell) and op.fact in OWN_FACTS and op.message not in again]
        asked_for += bool(kept)
        for context, fact in cut:
            groups_of = [
                place
                for place, group in enumerate(groups(operations))
                for step in group
                if isinstance(op := operations[step], Ask) and (op.context, op.fact) == (context, fact)
            ]
            assert len(set(groups_of)) >= 3
    assert asked_for >= 30


def test_there_are_more_conversations_than_a_cache_holds_now_and_then() -> None:
    told_before = 0
    for number in range(60):
        operations = generate(6, number, Bounds()).operations
        for place, operation in enumerate(operations):
            if isinstance(operation, Chat) and operation.apart and operation.turns > 100:
                facts = {(op.context, op.fact) for op in operations[:place] if isinstance(op, Tell)}
                asked = {(op.context, op.fact) for op in operations[place:] if isinstance(op, Ask)}
                told_before += bool(facts & asked)
    assert told_before >= 3


def test_starts_are_killed_early_late_and_when_they_should_be_over() -> None:
    operations = [op for number in range(60) for op in generate(6, number, Bounds()).operations]
    parts = [op.percent for op in operations if isinstance(op, KillStart)]
    assert min(parts) < 20
    assert any(20 < part < 80 for part in parts)
    assert max(parts) > 100


def test_a_target_stands_still_past_its_leases_now_and_then() -> None:
    for bounds, longest in ((Bounds(), 5_000), (Bounds(longest_pause=20_000), 20_000)):
        operations = [op for number in range(60) for op in generate(6, number, bounds).operations]
        assert max(op.milliseconds for op in operations if isinstance(op, Pause)) == longest


def test_no_value_looks_like_another_where_a_real_model_may_write_it_plainly() -> None:
    for twins in (True, False):
        operations = [op for number in range(60) for op in generate(6, number, Bounds(twins=twins)).operations]
        assert any(isinstance(op, Tell) and op.form is Form.TWIN for op in operations) is twins
