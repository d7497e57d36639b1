"""Let processes race for the same seq."""

from tests.support.children import race
from tests.support.processes import CONTEXT, spawn

from holdfast.store import open_store


async def run_races(url: str, processes: int, rounds: int) -> None:
    """Let processes race for every seq from a common start; each race must have exactly one winner."""
    session_id = f"race-{processes}"
    async with await open_store(url):
        pass
    results = CONTEXT.Queue()
    start = CONTEXT.Barrier(processes)
    racers = [spawn(race, url, session_id, rounds, f"p{number}", start, results) for number in range(processes)]
    won = dict(results.get(timeout=120) for _ in racers)
    for racer in racers:
        racer.join()
    async with await open_store(url) as store:
        events = await store.read(session_id)
        assert (await store.verification.session(session_id)).problem is None
    assert [event.seq for event in events] == list(range(1, rounds + 1))
    for event in events:
        assert event.seq in won[event.value()["by"]], "the log names a winner that was told it lost"
    assert sum(len(seqs) for seqs in won.values()) == rounds, "a race with no winner, or with two"
    assert sum(bool(seqs) for seqs in won.values()) > 1, "one process won every race: there was no contest"
