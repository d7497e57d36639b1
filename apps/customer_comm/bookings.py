"""The operator's bookings: one file each, written whole, one for each key however often it is asked for.

Two servers on one folder are safe: whoever books holds the folder's lock while it looks and writes.
"""

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from holdfast.core import strict_json
from holdfast.core.durable_files import alone_in, make_folder, remove_temporaries, write_whole

PILOTS = 4
"""How many passengers can fly at one time."""
TIMES = ("08:00", "10:00", "12:00", "14:00", "16:00")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class BookingRefused(Exception):
    """Nothing was booked; the message says why, for the customer."""


@dataclass(frozen=True, slots=True)
class Booking:
    """A booked flight; `key` is of the request, so that a repeated one is known."""

    reference: str
    key: str
    date: str
    time: str
    passengers: int
    name: str
    cancelled_by: str | None = None
    """The key of the request that cancelled it."""


class BookingFolder:
    """All bookings, in a folder."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self._folder = folder

    def all(self) -> list[Booking]:
        """Every booking, cancelled ones too, by reference."""
        return [self._read(path) for path in sorted(self._folder.glob("*.json"))]

    def free(self, date: str) -> dict[str, int]:
        """How many seats each time of a day has left."""
        _check_date(date)
        left = dict.fromkeys(TIMES, PILOTS)
        for booking in self.all():
            if booking.date == date and booking.cancelled_by is None:
                left[booking.time] -= booking.passengers
        return left

    def book(self, key: str, date: str, time: str, passengers: int, name: str) -> Booking:
        """Book a flight; the same key gives the booking that it made before."""
        _check_date(date)
        if time not in TIMES:
            raise BookingRefused(f"there is no flight at {time}; we fly at {', '.join(TIMES)}")
        if not 1 <= passengers <= PILOTS:
            raise BookingRefused(f"a flight has 1 to {PILOTS} passengers")
        asked = Booking(_reference(key), key, date, time, passengers, name)
        path = self._path(asked.reference)
        with alone_in(self._folder):
            if path.exists():
                there = self._read(path)
                same = (there.key, there.date, there.time, there.passengers, there.name) == (
                    *(key, date, time, passengers),
                    name,
                )
                if not same:
                    raise BookingRefused(f"the key {key!r} has booked another flight before")
                return asked
            if self.free(date)[time] < passengers:
                raise BookingRefused(f"the flight on {date} at {time} has no room for {passengers}")
            remove_temporaries(path)
            write_whole(path, strict_json.dump(asdict(asked)))
        return asked

    def cancel(self, key: str, reference: str) -> Booking:
        """Cancel a booking; the same key again says the same."""
        path = self._path(reference.upper())
        with alone_in(self._folder):
            if not path.exists():
                raise BookingRefused(f"there is no booking {reference}")
            there = self._read(path)
            if there.cancelled_by not in {None, key}:
                raise BookingRefused(f"booking {there.reference} is cancelled already")
            cancelled = Booking(**asdict(there) | {"cancelled_by": key})
            if there.cancelled_by is None:
                write_whole(path, strict_json.dump(asdict(cancelled)))
        return cancelled

    def _path(self, reference: str) -> Path:
        if not re.fullmatch(r"TF-[0-9A-F]{12}", reference):
            raise BookingRefused(f"{reference[:40]!r} is not the reference of a booking")
        return self._folder / f"{reference}.json"

    def _read(self, path: Path) -> Booking:
        return Booking(**strict_json.parse(path.read_bytes()))


def weather(date: str) -> dict[str, str | int | bool]:
    """The forecast of a day; made up, and always the same."""
    _check_date(date)
    drawn = hashlib.sha256(f"wind {date}".encode()).digest()
    wind, sky = 5 + drawn[0] % 36, ("clear", "cloudy", "showers")[drawn[1] % 3]
    return {"date": date, "windKmh": wind, "sky": sky, "safeToFly": wind <= 28 and sky != "showers"}


def _check_date(date: str) -> None:
    if not DATE.fullmatch(date):
        raise BookingRefused(f"{date[:40]!r} is not a date like 2026-07-01")


def _reference(key: str) -> str:
    return "TF-" + hashlib.sha256(key.encode()).hexdigest()[:12].upper()
