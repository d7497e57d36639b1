"""A case that fails holds up no other, and one that fails for itself does not go on for ever."""

from apps.failed_tries import MOST_TRIES, FailedTries


def test_a_case_that_failed_comes_after_the_others() -> None:
    tries = FailedTries()
    assert tries.in_order(["a", "b", "c"]) == ["a", "b", "c"]
    tries.away("a")
    assert tries.in_order(["a", "b", "c"]) == ["b", "c", "a"]
    for name in ("b", "b", "c"):
        tries.away(name)
    assert tries.in_order(["a", "b", "c"]) == ["a", "c", "b"]


def test_what_is_away_is_waited_for_for_ever_and_what_fails_for_itself_is_not() -> None:
    tries = FailedTries()
    for _ in range(100):
        tries.away("a")
    assert [tries.is_hopeless("a") for _ in range(MOST_TRIES)] == [*[False] * (MOST_TRIES - 1), True]
    assert not tries.is_hopeless("b")
