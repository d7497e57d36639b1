"""stale-writer: of writers who saw the same head exactly one is let in, however many processes try at once."""

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.client import ClientAnswer, StoreClient
from holdfast.prove.store.races import SESSION, Races, one_winner, race
from holdfast.prove.store.stage import StoreStage

FIRST = "first"


class _Append:
    """The contest for the next place in a log."""

    async def begin(self, client: StoreClient) -> None:
        await client.must("append", session=SESSION, payload={"id": FIRST})

    async def look(self, client: StoreClient) -> None:
        await client.must("look", session=SESSION)

    async def write(self, client: StoreClient, name: str, at: float | None) -> ClientAnswer:
        return await client.call("append", session=SESSION, payload={"id": name}, at=at, as_seen=True)

    async def winners(self, client: StoreClient) -> list[str]:
        found: list[str] = await client.must("read_ids", session=SESSION)
        return [name for name in found if name != FIRST]


async def steps(stage: StoreStage) -> Races:
    """Race for the next place."""
    return await race(stage, _Append())


CLAUSE = Clause(
    "stale-writer",
    "of writers who saw the same head exactly one is let in",
    steps,
    one_winner,
    frozenset({"expected"}),
)
