"""The checkers, over facts that no store had to make."""

import pytest

from holdfast.prove.store.clauses import batch, concurrent, kept, long_session, other_body, prefix, retry, round_trip
from holdfast.prove.store.kills import KilledWrites
from holdfast.prove.store.races import RaceRound, Races, one_winner
from holdfast.prove.verdict import Finding, Verdict

TRIED = ["0-1-0", "0-2-0", "0-3-0"]


def written(found: list[str], *, interrupted: int = 1, stuck: str = "", kills: int = 3) -> KilledWrites:
    return KilledWrites(1, kills, interrupted, TRIED, TRIED[:2], found, stuck)


@pytest.mark.parametrize(
    ("facts", "verdict", "reason"),
    [
        (written(TRIED[:2]), Verdict.PROVEN, "2 acknowledged over 3 kills"),
        (written(TRIED), Verdict.PROVEN, "none lost"),
        (written(TRIED[:1]), Verdict.DISPROVEN, "1 events are lost"),
        (written([]), Verdict.DISPROVEN, "2 events are lost"),
        (written([*TRIED, "0-1-0"]), Verdict.DISPROVEN, "1 events are there twice"),
        (written([*TRIED, "9-9-0"]), Verdict.DISPROVEN, "1 events are there though nobody wrote them"),
        (written([TRIED[1], TRIED[0]]), Verdict.DISPROVEN, "the order is another"),
        (written(TRIED, interrupted=0), Verdict.INCONCLUSIVE, "no kill hit a write under way"),
        (written([], stuck="locked"), Verdict.DISPROVEN, "does not go on after kill 3"),
        (written([], stuck="locked", kills=0), Verdict.INCONCLUSIVE, "nothing was ever written"),
    ],
)
def test_kept(facts: KilledWrites, verdict: Verdict, reason: str) -> None:
    finding = kept.check(facts)
    assert finding.verdict is verdict
    assert reason in finding.reason


def test_a_batch_that_nobody_acknowledged_must_be_whole_too() -> None:
    pair = ["0-1-0", "0-1-1"]
    unacknowledged = KilledWrites(2, 1, 1, [*pair, "0-2-0", "0-2-1"], pair, [*pair, "0-2-0"])
    assert batch.check(unacknowledged).reason == "1 of 2 writes are there in part"
    assert batch.check(KilledWrites(2, 1, 1, pair, pair, pair)).verdict is Verdict.PROVEN


def races(rounds: list[RaceRound], found: list[str], late: str = "stale", late_error: str = "") -> Finding:
    return one_winner(Races(late, late_error, rounds, found))


def test_races() -> None:
    fair = [RaceRound(2, ["a"], ["stale"], []), RaceRound(2, ["b"], [], ["locked"])]
    assert races(fair, ["a", "b"]).verdict is Verdict.PROVEN
    assert "1 of them with another error" in races(fair, ["a", "b"]).reason
    assert races(fair, ["b", "a"]).reason == "what is found is not what the winners wrote"
    assert races(fair, ["a", "b"], late="", late_error="locked").verdict is Verdict.INCONCLUSIVE
    assert "a stale write was accepted" in races(fair, ["a", "b"], late="").reason
    assert "more than one was let in" in races([RaceRound(2, ["a", "b"], [], [])], ["a", "b"]).reason
    assert "nobody was let in" in races([RaceRound(2, [], ["stale"], ["stale"])], []).reason


def all_of(places: bool) -> dict[str, int | None]:
    ids = [f"{writer}-{number}" for writer in range(concurrent.WRITERS) for number in range(concurrent.EACH)]
    return {event: place if places else None for place, event in enumerate(ids, start=2)}


def test_places_must_be_those_of_the_log() -> None:
    places = all_of(places=True)
    assert "without gaps" in concurrent.check(concurrent._Facts(places, {}, list(places))).reason
    gap = {**places, "3-24": 999}
    assert concurrent.check(concurrent._Facts(gap, {}, list(places))).verdict is Verdict.DISPROVEN
    unsaid = all_of(places=False)
    assert "says no places" in concurrent.check(concurrent._Facts(unsaid, {}, list(unsaid))).reason
    swapped = ["0-1", "0-0", *list(unsaid)[2:]]
    assert "order it wrote them" in concurrent.check(concurrent._Facts(unsaid, {}, swapped)).reason
    assert "1 are there twice" in concurrent.check(concurrent._Facts(unsaid, {}, [*unsaid, "0-0"])).reason


def test_what_a_reader_saw_may_not_change() -> None:
    log = ["first", "a", "b"]

    def seen(*views: list[str]) -> Finding:
        return prefix.check(prefix._Facts(["a", "b"], [list(views)], log))

    assert seen(["first"], ["first", "a"], log).verdict is Verdict.PROVEN
    assert seen(["first"], ["first", "b"], log).got == "an event appeared before one that was seen already"
    assert seen(["first"], ["first", "x"], log).got == "x was seen and is gone"
    assert "does not see" in seen(["first"], ["first", "a"]).reason
    assert seen(log).verdict is Verdict.INCONCLUSIVE
    never_there = prefix.check(prefix._Facts(["a", "b", "c"], [[["first"], log]], log))
    assert "does not see what was acknowledged" in never_there.reason
    assert "error while others wrote" in prefix.check(prefix._Facts([], [[]], [], "locked")).reason


def test_a_retry_must_get_the_same_answer() -> None:
    first = {"value": 1, "refused": "", "error": ""}
    found = ["once", "between"]
    assert retry.check(retry._Facts([first, first], [], found)).verdict is Verdict.PROVEN
    assert "another place" in retry.check(retry._Facts([first, {**first, "value": 2}], [], found)).reason
    assert "told that it failed" in retry.check(retry._Facts([first, {**first, "refused": "no"}], [], found)).reason
    assert "1 more events" in retry.check(retry._Facts([first, first], [], ["once", "once", "between"])).reason


def test_an_error_is_not_a_refusal() -> None:
    facts = other_body._Facts([{"refused": "", "error": "locked"}] * 4, [other_body.FIRST])
    assert other_body.check(facts).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0.0, -0.0), ("é", "e\u0301"), (None, "")])
def test_values_that_only_look_alike_are_told_apart(one: object, other: object) -> None:
    assert round_trip.text(one) != round_trip.text(other)


def test_a_store_that_refuses_most_is_not_proven() -> None:
    names = list(round_trip.HAZARDS)
    few = round_trip._Facts(names[:3], dict.fromkeys(names[3:], "no"), {})
    assert round_trip.check(few).verdict is Verdict.INCONCLUSIVE
    most = round_trip._Facts(names[1:], {names[0]: "no"}, {})
    assert "refused: plain text" in round_trip.check(most).reason


def test_a_long_session_may_cost_five_times_as_much_and_no_more() -> None:
    def check(*lengths: long_session._Length) -> Finding:
        return long_session.check(long_session._Facts(1000, list(lengths)))

    first = long_session._Length(100, 0.001, 0.001, 300.0)
    assert check(first, long_session._Length(1000, 0.001, 0.0049, 1400.0)).verdict is Verdict.PROVEN
    assert "takes 6.0 times as long" in check(first, long_session._Length(1000, 0.001, 0.006, 300.0)).reason
    assert "5.3 times as many" in check(first, long_session._Length(1000, 0.001, 0.001, 1600.0)).reason
    assert check(first).verdict is Verdict.INCONCLUSIVE
    assert check().verdict is Verdict.INCONCLUSIVE
    unseen = long_session._Length(1000, 0.001, 0.001, None)
    assert "size not seen" in check(first, unseen).reason
