"""Races for one conversation: exactly one writer, whoever else tries."""

import threading

import pytest
from tests.runtime.conversation.places import Place, user
from tests.runtime.conversation.races import race_after_a_death, race_processes

from holdfast.core.errors import StaleWriter

COUNTS = [2, pytest.param(200, marks=[pytest.mark.long(seconds=60), pytest.mark.timeout(900)])]


@pytest.mark.parametrize("count", COUNTS)
def test_of_two_processes_one_writes(place: Place, count: int) -> None:
    assert race_processes(place, count) == []


@pytest.mark.parametrize(
    "count", [1, pytest.param(200, marks=[pytest.mark.long(seconds=90), pytest.mark.timeout(900)])]
)
def test_of_two_processes_one_takes_over_from_the_dead(place: Place, count: int) -> None:
    assert race_after_a_death(place, count) == []


@pytest.mark.parametrize(
    "count", [10, pytest.param(200, marks=[pytest.mark.long(seconds=20), pytest.mark.timeout(900)])]
)
def test_of_two_objects_in_two_threads_one_writes(place: Place, count: int) -> None:
    for _ in range(count):
        session = place.new(messages=[user("first")])
        session.persist()
        objects = [place.again(session), place.again(session)]
        start = threading.Barrier(2)
        won: list[str] = []

        def write(number: int, start: threading.Barrier = start, objects: list = objects, won: list = won) -> None:  # type: ignore[type-arg]
            start.wait()
            try:
                objects[number].append(user(str(number)))
                won.append(str(number))
            except StaleWriter:
                return

        threads = [threading.Thread(target=write, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert [message.text for message in place.again(session).messages] == ["first", *won]
