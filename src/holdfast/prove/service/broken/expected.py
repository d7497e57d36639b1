"""What is broken on purpose, and which step says so."""

from typing import NamedTuple


class BrokenKind(NamedTuple):
    """The step that must see it, and what is wrong; `program` if it is one that is broken, else it is the gateway."""

    step: str
    what: str
    program: str | None = None


KINDS: dict[str, BrokenKind] = {
    "forgets-a-session": BrokenKind("sessions created", "the gateway takes a session's events and has no such session"),
    "keeps-no-state": BrokenKind("states", "the gateway acknowledges a patch of the state and keeps nothing of it"),
    "drops-actions": BrokenKind("actions", "the gateway acknowledges batches of actions and keeps none of their tools"),
    "shows-no-sessions": BrokenKind("dashboard", "the gateway tells a browser of no sessions"),
    "delivers-twice": BrokenKind("actions", "the program sends an answer twice", "email_solver"),
    "books-twice": BrokenKind("actions", "the program books a flight twice", "customer_comm"),
}
