"""What a store looks like to the proof: a few verbs, of which a store offers what it can.

An adapter adds no promise of its own: no lock, no key table, no retry that a user of the store would not write.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

Payload = dict[str, Any]


class Offer(NamedTuple):
    """Something that a store may have beyond append and read: what it is, and the verbs that are then called."""

    what: str
    verbs: tuple[str, ...] = ()


OFFERS = {
    "keys": Offer("idempotency keys"),
    "expected": Offer("appends that expect a head", ("head",)),
    "batch": Offer("appends of several events", ("append_all",)),
    "state": Offer("state with a version", ("get_state", "put_state")),
    "tenants": Offer("tenants", ("for_tenant",)),
    "listing": Offer("a list of sessions", ("sessions",)),
    "delete": Offer("a delete", ("delete",)),
    "damage": Offer("events that can be damaged", ("damage",)),
}


class Refused(Exception):
    """The store said no, and wrote nothing: a stale writer, or a key that was used before with another body."""


class StoreAdapter:
    """One store, opened by one process in one folder. Subclass it, and say in `offers` what is there to be proven.

    An adapter's factory is called with the folder, in every process that takes part; they share nothing else.
    A verb returns only once the store has acknowledged, and raises whatever the store raises.
    """

    subject: str = "a store"
    offers: frozenset[str] = frozenset()

    async def open(self) -> None:
        """Open the store, making it where there is none."""

    async def close(self) -> None:
        """Let go of the store in an orderly way."""

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        """Append one event; its place in the log, if the store says one.

        `key` (of `keys`) makes a retry harmless; `expected` (of `expected`) is what `head` said, and raises Refused
        where another event came since. A session that does not exist begins with its first event.
        """
        raise NotImplementedError

    async def read(self, session: str) -> list[Payload]:
        """Every event of the session, oldest first; none for a session that does not exist."""
        raise NotImplementedError

    async def head(self, session: str) -> Any:
        """Where the session's log ends now, in the store's own terms; anything but None."""
        raise NotImplementedError

    async def append_all(self, session: str, payloads: Sequence[Payload]) -> None:
        """Append several events in one write (of `batch`)."""
        raise NotImplementedError

    async def get_state(self, session: str) -> tuple[Payload, Any]:
        """The session's document and its version (of `state`)."""
        raise NotImplementedError

    async def put_state(self, session: str, document: Payload, *, expected: Any) -> None:
        """Change the document if it still has the expected version, else raise Refused (of `state`)."""
        raise NotImplementedError

    def for_tenant(self, tenant: str) -> "StoreAdapter":
        """The same open store as another tenant sees it (of `tenants`)."""
        raise NotImplementedError

    async def sessions(self) -> list[str]:
        """The names of all sessions (of `listing`)."""
        raise NotImplementedError

    async def delete(self, session: str) -> None:
        """Delete a session (of `delete`)."""
        raise NotImplementedError

    async def damage(self, session: str, index: int) -> None:
        """Behind the store's back, put bytes that mean nothing where the event at `index` is kept (of `damage`)."""
        raise NotImplementedError

    async def size(self) -> int | None:
        """How many bytes the store takes; None: as many as the files in the folder."""
        return None


def faults_of(adapter: Any) -> list[str]:
    """What is wrong with an adapter before any store is opened."""
    if not isinstance(adapter, StoreAdapter):
        return [f"the factory made a {type(adapter).__name__}, not a StoreAdapter"]
    unknown = [f"there is nothing called {offer!r} to offer" for offer in sorted(adapter.offers - set(OFFERS))]
    needed = ["append", "read", *(verb for offer in OFFERS if offer in adapter.offers for verb in OFFERS[offer].verbs)]
    missing = [
        f"the verb {verb!r} is missing"
        for verb in dict.fromkeys(needed)
        if getattr(type(adapter), verb) is getattr(StoreAdapter, verb)
    ]
    return unknown + missing
