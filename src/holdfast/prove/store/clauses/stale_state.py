"""stale-state: of writers who saw the same version of the state exactly one is let in."""

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.client import ClientAnswer, StoreClient
from holdfast.prove.store.races import SESSION, Races, one_winner, race
from holdfast.prove.store.stage import StoreStage


class PutState:
    """The contest for the next version of a document, which keeps the names of all who wrote it."""

    def __init__(self) -> None:
        self._seen: dict[StoreClient, list[str]] = {}

    async def begin(self, client: StoreClient) -> None:
        await client.must("append", session=SESSION, payload={"id": "first"})
        await client.must("look_at_state", session=SESSION)
        await client.must("put_state", session=SESSION, document={"names": []})

    async def look(self, client: StoreClient) -> None:
        self._seen[client] = (await client.must("look_at_state", session=SESSION))["names"]

    async def write(self, client: StoreClient, name: str, at: float | None) -> ClientAnswer:
        document = {"names": [*self._seen[client], name]}
        return await client.call("put_state", session=SESSION, document=document, at=at)

    async def winners(self, client: StoreClient) -> list[str]:
        await self.look(client)
        return self._seen[client]


async def steps(stage: StoreStage) -> Races:
    """Race for the next version."""
    return await race(stage, PutState())


CLAUSE = Clause(
    "stale-state",
    "of writers who saw the same state exactly one is let in",
    steps,
    one_winner,
    frozenset({"state"}),
)
