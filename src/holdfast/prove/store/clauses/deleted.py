"""deleted: what was deleted stays away, also when its session is written again."""

from dataclasses import dataclass
from typing import Any

from holdfast.prove.store.clause import Clause, elsewhere
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, proven

SESSION, OTHER = "deleted", "kept"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is read after the delete, what a late append was told, what is read after that; and the other session."""

    after: Any
    late: str
    at_last: Any
    other: list[str]


async def steps(stage: StoreStage) -> _Facts:
    """Write two sessions, delete one, and append to it from a process that had it open all the while."""
    writer, deleter = await stage.clients(2)
    for number in range(3):
        for session in (SESSION, OTHER):
            await writer.must("append", session=session, payload={"id": f"old-{number}"})
    await deleter.must("delete", session=SESSION)
    after = await (await stage.client()).call("read_ids", session=SESSION)
    late = await writer.call("append", session=SESSION, payload={"id": "late"})
    reader = await stage.client()
    at_last = await reader.call("read_ids", session=SESSION)
    other = await reader.must("read_ids", session=OTHER)
    return _Facts(after.value or [], late.trouble, at_last.value or [], other)


def check(facts: _Facts) -> Finding:
    """Nothing old is ever read again; a late append is refused or begins anew; others are untouched."""
    if not facts.other:
        return elsewhere()
    for found in (facts.after, facts.at_last):
        if old := [event for event in found if event.startswith("old")]:
            return disproven("what was deleted is there", expected="none of the old events", got=str(old))
    if facts.other != ["old-0", "old-1", "old-2"]:
        return disproven("a delete took more than its session", expected="three events", got=str(facts.other))
    if not facts.late and facts.at_last != ["late"]:
        return disproven("a late append was acknowledged and lost", expected="late", got=str(facts.at_last))
    ending = f"a late append is refused ({facts.late})" if facts.late else "a late append begins anew"
    return proven(f"nothing old comes back; {ending}")


CLAUSE = Clause(
    "deleted",
    "what was deleted stays away, also when its session is written again",
    steps,
    check,
    frozenset({"delete"}),
)
