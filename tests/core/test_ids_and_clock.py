"""Ids sort by time and never repeat; times survive their text form."""

import pickle
import random
import subprocess
import sys
import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.clocks import SetClock

from holdfast.core import TimeOrderedIds
from holdfast.core.clock import from_iso, to_iso
from holdfast.core.errors import InvalidInput, StaleWriter
from holdfast.core.ids import (
    DRAWN_BYTES,
    SESSION_ID,
    TIME_ORDERED,
    DrawnBits,
    check_session_id,
    draw_ids,
    later_id,
    pairs,
    session_id_for,
)

FORKING = """
import os
from holdfast.core.ids import DrawnBits

bits = DrawnBits()
print(bits(128), flush=True)
if (child := os.fork()) == 0:
    print(bits(128), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(bits(128))
"""


def test_ids_rise_within_a_millisecond_and_when_the_clock_goes_back() -> None:
    clock = SetClock(1_700_000_000_000)
    ids = TimeOrderedIds(clock)
    made = [ids() for _ in range(1_000)]
    clock.time -= 60_000
    made += [ids() for _ in range(1_000)]
    clock.time += 120_000
    made += [ids() for _ in range(1_000)]
    assert all(one < other for one, other in pairwise(made))
    assert {len(one) for one in made} == {26}


@given(
    st.integers(0, (1 << 48) - 2),
    st.lists(st.tuples(st.integers(0, 300), st.integers(-2, 2)), max_size=8),
    st.sampled_from([0, 1, (1 << 30) - 1, (1 << 80) - (1 << 24), (1 << 80) - 1]) | st.integers(0, (1 << 80) - 1),
    st.randoms(),
)
def test_ids_that_are_drawn_together_are_like_those_drawn_one_by_one(
    time: int, draws: list[tuple[int, int]], low: int, chance: random.Random
) -> None:
    """Each sorts behind the one before, also where their lower bits come to an end and the time goes on by itself."""
    clock = SetClock(time)
    ids = TimeOrderedIds(clock, random_bits=lambda bits: low if bits == 80 else chance.getrandbits(bits))
    made: list[str] = []
    for count, passed in draws:
        made += draw_ids(ids, count)
        made.append(ids())
        clock.time = max(0, clock.time + passed)
    assert all(one < other for one, other in pairwise(made))
    assert all(TIME_ORDERED.match(one) for one in made)
    assert not made or made[0] == pairs(time << 80 | low, 13)


@given(st.integers(0, (1 << 48) - 2), st.integers(0, (1 << 80) - 1), st.integers(0, (1 << 64) - 1))
def test_a_later_id_sorts_behind_an_id_of_any_source(time: int, low: int, drawn: int) -> None:
    earlier = TimeOrderedIds(SetClock(time), random_bits=lambda _: low)()
    later = later_id(earlier, random_bits=lambda _: drawn)
    assert (later > earlier, len(later)) == (True, 26)


def test_ids_of_later_times_sort_later() -> None:
    assert TimeOrderedIds(SetClock(1_000))() < TimeOrderedIds(SetClock(1_001))()


def test_threads_never_draw_the_same_id() -> None:
    ids = TimeOrderedIds(SetClock(5), random_bits=lambda _: 0)
    drawn: list[str] = []
    threads = [threading.Thread(target=lambda: drawn.extend([ids() for _ in range(500)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 2_000


@given(st.lists(st.integers(1, 200), min_size=1, max_size=400))
def test_bits_come_from_bytes_that_are_taken_once(counts: list[int]) -> None:
    drawn: list[bytes] = []

    def draw(size: int) -> bytes:
        drawn.append(random.Random(len(drawn)).randbytes(size))
        return drawn[-1]

    bits = DrawnBits(draw)
    block = place = 0
    for count in counts:
        number, size = bits(count), (count + 7) // 8
        if place + size > DRAWN_BYTES:
            block, place = block + 1, 0
        assert number == int.from_bytes(drawn[block][place : place + size]) >> -count % 8
        place += size


def test_a_forked_process_draws_numbers_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) == 3


@given(st.integers(0, 4_102_444_800_000))
def test_times_survive_their_text(ms: int) -> None:
    assert from_iso(to_iso(ms)) == ms


def test_times_in_other_forms() -> None:
    assert from_iso("2026-02-13T10:00:00Z") == from_iso("2026-02-13T12:00:00+02:00") == from_iso("2026-02-13T10:00:00")
    with pytest.raises(InvalidInput):
        from_iso("yesterday")


@given(st.text())
def test_any_text_has_a_session_id(text: str) -> None:
    session_id = session_id_for(text)
    assert check_session_id(session_id) == session_id
    if not SESSION_ID.match(text) or text in {".", ".."}:
        assert session_id != text


def test_errors_cross_process_borders_with_their_details() -> None:
    error = pickle.loads(pickle.dumps(StaleWriter("late", head_seq=3)))
    assert (type(error), error.message, error.details, error.hint) == (
        StaleWriter,
        "late",
        {"head_seq": 3},
        StaleWriter.hint,
    )
