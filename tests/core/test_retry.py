"""Trying again: what must be written is, until a reason stays; pauses grow up to a bound, or are what a server asks."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from holdfast.core import HoldfastError
from holdfast.core.errors import Busy, Closing, NotFound, OutcomeUnknown, StoreFailed
from holdfast.core.retry import LONGEST_ASKED, Backoff, asked_pause, retry_after, until_written


class Write:
    """A write that meets these errors, one after the other, and then succeeds."""

    def __init__(self, *errors: HoldfastError) -> None:
        self.errors = list(errors)

    async def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "written"


async def test_a_passing_trouble_is_waited_out() -> None:
    assert await until_written(Write(Busy("full"), OutcomeUnknown("cut"))) == "written"


async def test_a_dead_store_is_not_waited_for() -> None:
    with pytest.raises(StoreFailed):
        await until_written(Write(Busy("full"), StoreFailed("dead")))


def test_pauses_double_up_to_a_bound() -> None:
    assert [Backoff(0.5, 3.0).pause(tries) for tries in range(1, 6)] == [0.5, 1, 2, 3, 3]
    assert Backoff(0.5, 3.0).pause(100_000) == 3.0
    assert [Backoff(2.0).pause(tries) for tries in (1, 2, 3)] == [2, 4, 8]


def test_a_spread_pause_is_at_least_half_and_at_most_all_of_it() -> None:
    assert [Backoff(4.0).spread_pause(1, chance) for chance in (lambda: 0.0, lambda: 0.5, lambda: 1.0)] == [2, 3, 4]
    assert 2 <= Backoff(4.0).spread_pause(1) <= 4


def test_what_a_server_asks_for_is_a_number_or_a_date() -> None:
    assert asked_pause("7") == asked_pause(" 7 ") == 7
    soon = datetime.now(UTC) + timedelta(hours=1)
    found = asked_pause(format_datetime(soon, usegmt=True))
    assert found is not None and 3000 < found <= 3600
    assert asked_pause(format_datetime(soon.replace(tzinfo=None))) is not None, "a date of no zone is of UTC"
    assert asked_pause("Thu, 01 Jan 1970 00:00:00 GMT") == 0


@pytest.mark.parametrize(
    "text", [None, "", "soon", "-1", "1.5", "\u00b2", "Mon, 01 Jan 2026 00:00:00 +9999", "Mon, 01 Jan 9" + "9" * 20]
)
def test_what_is_neither_asks_for_nothing(text: str | None) -> None:
    assert asked_pause(text) is None


@pytest.mark.parametrize("text", ["9" * 5_000, "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"])
def test_what_no_clock_can_hold_breaks_nothing(text: str) -> None:
    assert asked_pause(text) in (None, LONGEST_ASKED)


def test_an_error_says_when_to_try_again_if_that_may_help() -> None:
    assert retry_after(Busy("full", retry_after=10)) == 10
    assert retry_after(Closing("stopping")) == 1
    assert retry_after(Closing("stopping", retry_after=None)) == 1
    assert retry_after(NotFound("nothing")) is None
