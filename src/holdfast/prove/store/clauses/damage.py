"""damage: an event whose bytes were damaged is an error, never an event less."""

from dataclasses import dataclass
from typing import Any

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

SESSION, OTHER = "damaged", "whole"
COUNT = 5
DAMAGED = (0, 2, 4)


@dataclass(frozen=True, slots=True)
class _Facts:
    """For each event that was damaged what a read of its session said; and what the other session's read said."""

    reads: dict[int, Any]
    other: Any


async def steps(stage: StoreStage) -> _Facts:
    """Damage the first event of a session, a middle one of another and the last of a third; read in a new process."""
    writer = await stage.client()
    for session in (*(f"{SESSION}-{index}" for index in DAMAGED), OTHER):
        for number in range(COUNT):
            await writer.must("append", session=session, payload={"id": f"{number}"})
    for index in DAMAGED:
        stage.step(f"damage event {index + 1} of {COUNT}")
        await writer.must("damage", session=f"{SESSION}-{index}", index=index)
    await writer.close()
    reader = await stage.client()
    reads: dict[int, Any] = {}
    for index in DAMAGED:
        read = await reader.call("read_ids", session=f"{SESSION}-{index}")
        reads[index] = read.value if read.accepted else {"error": read.trouble}
    other = await reader.call("read_ids", session=OTHER)
    return _Facts(reads, other.value if other.accepted else {"error": other.trouble})


def check(facts: _Facts) -> Finding:
    """Every read of a damaged session is an error; one of another session is not."""
    whole = [f"{number}" for number in range(COUNT)]
    expected = "an error that says so"
    errors = []
    for index, read in facts.reads.items():
        if read == whole:
            return inconclusive(
                f"event {index + 1} was read as if nothing had happened",
                hint="see whether the adapter's damage() changes the bytes that are read",
            )
        if isinstance(read, list):
            return disproven(
                f"a damaged event was passed over in silence ({len(read)} of {COUNT} events came)",
                expected=expected,
                got=str(read),
            )
        errors.append(read["error"])
    if facts.other != whole:
        return disproven("damage in one session hides another", expected=str(whole), got=str(facts.other))
    return proven(f"damage to the first, a middle and the last event is an error: {errors[0]}")


CLAUSE = Clause("damage", "a damaged event is an error, never an event less", steps, check, frozenset({"damage"}))
