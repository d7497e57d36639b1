"""A key books once, whoever asks however often, and no flight has more passengers than pilots."""

import threading
from pathlib import Path

import pytest
from apps.customer_comm.bookings import PILOTS, BookingFolder, BookingRefused

DAY = "2026-07-01"


def test_the_same_key_is_the_same_booking_and_another_flight_under_it_is_refused(tmp_path: Path) -> None:
    bookings = BookingFolder(tmp_path)
    first = bookings.book("k1", DAY, "10:00", 2, "Ada")
    assert BookingFolder(tmp_path).book("k1", DAY, "10:00", 2, "Ada") == first
    with pytest.raises(BookingRefused):
        bookings.book("k1", DAY, "12:00", 2, "Ada")
    assert bookings.all() == [first]


def test_a_flight_is_never_overbooked_by_servers_that_book_at_once(tmp_path: Path) -> None:
    outcomes: list[str] = []
    for number in range(40):  # looking at them takes a moment, in which another one could book
        BookingFolder(tmp_path).book(f"other-{number}", f"2026-08-{1 + number % 28:02}", "08:00", 1, "Eve")

    def book(number: int) -> None:
        try:
            outcomes.append(BookingFolder(tmp_path).book(f"k{number % 8}", DAY, "10:00", 1, "Ada").reference)
        except BookingRefused:
            outcomes.append("refused")

    threads = [threading.Thread(target=book, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 16
    booked = [booking for booking in BookingFolder(tmp_path).all() if booking.date == DAY]
    assert len(booked) == PILOTS == len(set(outcomes) - {"refused"})
    assert BookingFolder(tmp_path).free(DAY)["10:00"] == 0


def test_a_cancelled_flight_has_room_again_and_is_cancelled_once(tmp_path: Path) -> None:
    bookings = BookingFolder(tmp_path)
    reference = bookings.book("k1", DAY, "10:00", PILOTS, "Ada").reference
    with pytest.raises(BookingRefused):
        bookings.book("k2", DAY, "10:00", 1, "Eve")
    assert bookings.cancel("c1", reference) == bookings.cancel("c1", reference.lower())
    with pytest.raises(BookingRefused):
        bookings.cancel("c2", reference)
    assert bookings.book("k2", DAY, "10:00", 1, "Eve").passengers == 1


@pytest.mark.parametrize(
    ("date", "time", "passengers"),
    [("tomorrow", "10:00", 1), (DAY, "03:00", 1), (DAY, "10:00", 0), (DAY, "10:00", PILOTS + 1)],
)
def test_what_cannot_be_flown_is_refused(tmp_path: Path, date: str, time: str, passengers: int) -> None:
    with pytest.raises(BookingRefused):
        BookingFolder(tmp_path).book("k1", date, time, passengers, "Ada")
    assert BookingFolder(tmp_path).all() == []


@pytest.mark.parametrize("reference", ["../../etc/passwd", "TF-1", "", "TF-AAAAAAAAAAAA"])
def test_a_reference_that_is_none_is_refused(tmp_path: Path, reference: str) -> None:
    with pytest.raises(BookingRefused):
        BookingFolder(tmp_path).cancel("c1", reference)
