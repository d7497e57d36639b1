"""kept: what was acknowledged before a kill -9 is there after it, once, in order, and nothing else is."""

from collections import Counter

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.kills import KilledWrites, write_and_kill
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

HINT = "run again with more --cycles"


async def steps(stage: StoreStage) -> KilledWrites:
    """One writer after the other, each killed at a random moment; then a reader."""
    return await write_and_kill(stage, size=1)


def check(written: KilledWrites) -> Finding:
    """Acknowledged ⊆ found ⊆ tried; none twice; in the order of the writes."""
    told = f"{len(written.acknowledged)} acknowledged over {written.kills} kills"
    if written.stuck:
        if not written.kills:
            return inconclusive("nothing was ever written", hint="see the clients' log", got=written.stuck)
        return disproven(
            f"the store does not go on after kill {written.kills}",
            expected="the next process opens the store and goes on",
            got=written.stuck,
        )
    found = Counter(written.found)
    lost = [event for event in written.acknowledged if event not in found]
    twice = [event for event, count in found.items() if count > 1]
    strange = sorted(set(found) - set(written.tried))
    for wrong, events in (("lost", lost), ("there twice", twice), ("there though nobody wrote them", strange)):
        if events:
            return disproven(
                f"{len(events)} events are {wrong} ({told})",
                expected="every acknowledged event once, and no other than was tried",
                got=f"{wrong}: {', '.join(events[:5])}",
            )
    if written.found != [event for event in written.tried if event in found]:
        return disproven("the order is another", expected="the order of the writes", got="another order")
    if not written.interrupted:
        return inconclusive(f"no kill hit a write under way ({told})", hint=HINT)
    return proven(f"{told}, {written.interrupted} of them amid a write: none lost, none twice")


CLAUSE = Clause("kept", "what was acknowledged before a kill -9 is there after it", steps, check)
