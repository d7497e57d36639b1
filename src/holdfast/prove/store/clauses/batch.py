"""batch: events that are written together are there together, or not at all, whenever the writer is killed."""

from collections import Counter

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.clauses import kept
from holdfast.prove.store.kills import KilledWrites, write_and_kill
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, Verdict, disproven, proven

SIZE = 5


async def steps(stage: StoreStage) -> KilledWrites:
    """Writers of five events at a time, each killed at a random moment."""
    return await write_and_kill(stage, SIZE)


def check(written: KilledWrites) -> Finding:
    """No write is found in part; and what holds of single events holds of these."""
    parts = Counter(event.rpartition("-")[0] for event in dict.fromkeys(written.found))
    torn = [write for write, count in parts.items() if count != written.size]
    if torn and not written.stuck:
        return disproven(
            f"{len(torn)} of {len(parts)} writes are there in part",
            expected=f"all {written.size} events of a write, or none",
            got=f"{parts[torn[0]]} events of write {torn[0]}",
        )
    finding = kept.check(written)
    if finding.verdict is not Verdict.PROVEN:
        return finding
    return proven(f"{len(parts)} writes of {written.size} over {written.kills} kills: none in part")


CLAUSE = Clause(
    "batch", "events that are written together are there together or not at all", steps, check, frozenset({"batch"})
)
