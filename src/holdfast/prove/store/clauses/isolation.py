"""isolation: sessions never see each other, however alike their names are."""

from dataclasses import dataclass

from holdfast.prove.store.clause import Clause, elsewhere
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, proven

NAMES = ("s", "S", "s1", "s11", "s-1", "s_1", "s.1", "s:1", "s-", "x" * 100, "x" * 99 + "y")
ROUNDS = 3
NEVER = "never-written"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What each session held in the end, what one that was never written held, and the list of sessions if any."""

    found: dict[str, list[str]]
    never: list[str]
    listed: list[str] | None


async def steps(stage: StoreStage) -> _Facts:
    """Two processes append to many sessions by turns; a third reads them all."""
    writers = await stage.clients(2)
    for number in range(ROUNDS):
        for session in NAMES:
            event = {"id": f"{session}/{number}"}
            await writers[number % 2].must("append", session=session, payload=event)
    reader = await stage.client()
    found = {session: await reader.must("read_ids", session=session) for session in NAMES}
    listed = await reader.must("sessions") if "listing" in stage.offers else None
    return _Facts(found, await reader.must("read_ids", session=NEVER), listed)


def check(facts: _Facts) -> Finding:
    """Every session holds its own events and no others; the list names every session."""
    if not any(facts.found.values()):
        return elsewhere()
    for session, found in facts.found.items():
        own = [f"{session}/{number}" for number in range(ROUNDS)]
        if found != own:
            return disproven(f"session {session} holds other events than its own", expected=str(own), got=str(found))
    if facts.never:
        return disproven("a session that was never written holds events", expected="none", got=str(facts.never))
    if facts.listed is not None and facts.listed != sorted(facts.found):
        return disproven(
            "the list of sessions is not that of the sessions", expected=str(sorted(facts.found)), got=str(facts.listed)
        )
    return proven(f"{len(facts.found)} sessions with names alike, {ROUNDS} events each: none saw another's")


CLAUSE = Clause("isolation", "sessions never see each other, however alike their names", steps, check)
