"""Customers of an operator of tandem flights: most book a flight, some ask for the weather, some say thanks."""

import random
from collections.abc import Sequence
from pathlib import Path

from holdfast.core import strict_json
from holdfast.prove.service.program import ProgramCase, ProgramSpec, count, documents, same_names

NAMES = ("Ada", "Grace", "Edsger", "Barbara", "Alan", "Katherine", "Donald", "Radia")
TIMES = ("08:00", "10:00", "12:00", "14:00", "16:00")
BOOKING = "booking"


def draw(chance: random.Random, number: int) -> ProgramCase:
    """A message: each booking is on a day of its own, so that there is always room."""
    name, time, people = chance.choice(NAMES), chance.choice(TIMES), chance.choice((1, 2))
    day = f"2027-{1 + number // 28 % 12:02}-{1 + number % 28:02}"
    case_id = f"m{number:04}"
    expected: dict[str, object] = {}
    match number % 3:
        case 2 if number % 2:
            text = f"My name is {name}. How is the weather on {day}? Is it safe to fly?"
        case 2:
            text = f"My name is {name}. Thank you, it was the best day of my life!"
        case _:
            text = f"My name is {name}. Please book a flight for {people} people on {day} at {time}"
            expected = {BOOKING: f"{day} {time} for {people}"}
    content = strict_json.dump({"from": f"{name.lower()}@example.org", "text": text})
    return ProgramCase(case_id, f"inbox/{case_id}.json", content, expected, effect=BOOKING in expected)


def check(data: Path, cases: Sequence[ProgramCase]) -> str:
    """Each message is answered once, and each flight booked once."""
    same_names([path.stem for path in (data / "done").glob("*.json")], [case.name for case in cases], "messages")
    same_names(list(documents(data / "answers")), [case.name for case in cases], "answers")
    found = documents(data / "bookings").values()
    flights = [f"{each['date']} {each['time']} for {each['passengers']}" for each in found]
    same_names(flights, [str(case.expected[BOOKING]) for case in cases if BOOKING in case.expected], "bookings")
    keys = [str(each["key"]) for each in found]
    same_names(keys, sorted(set(keys)), "keys of bookings")
    return f"{len(cases)} messages, {len(flights)} bookings"


CUSTOMER_COMM = ProgramSpec(
    "customer_comm",
    "test-customer",
    draw,
    check,
    lambda data: count(data, "done/*", "failed/*", "refused/*"),
    begun=("team_spawn",),
)
