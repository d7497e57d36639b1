"""stale-writer: of writers who saw the same head exactly one is let in, however many processes try at once."""

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.client import Answer, Client
from holdfast.prove.store.racing import SESSION, Races, one_winner, race
from holdfast.prove.store.stage import Stage

FIRST = "first"


class Append:
    """The contest for the next place in a log."""

    async def begin(self, client: Client) -> None:
        await client.must("append", session=SESSION, payload={"id": FIRST})

    async def look(self, client: Client) -> None:
        await client.must("look", session=SESSION)

    async def write(self, client: Client, name: str, at: float | None) -> Answer:
        return await client.call("append", session=SESSION, payload={"id": name}, at=at, as_seen=True)

    async def winners(self, client: Client) -> list[str]:
        found: list[str] = await client.must("read_ids", session=SESSION)
        return [name for name in found if name != FIRST]


async def steps(stage: Stage) -> Races:
    """Race for the next place."""
    return await race(stage, Append())


CLAUSE = Clause(
    "stale-writer",
    "of writers who saw the same head exactly one is let in",
    steps,
    one_winner,
    frozenset({"expected"}),
)
