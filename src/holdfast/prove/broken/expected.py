"""Which proofs disprove which kind of broken runtime: one table, for the tests and for --list."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """A defect and its exact consequences; every proof that is not named here is proven."""

    defect: str
    disproven: frozenset[str] = frozenset()
    not_reached: frozenset[str] = frozenset()


KINDS = {
    "none": Expected("none: the honest control"),
    "task-keyed": Expected(
        "keys a conversation by task id, so every turn is a first turn",
        disproven=frozenset({"name", "parallel"}),
        not_reached=frozenset({"restart", "crash"}),
    ),
    "memory-only": Expected(
        "keeps everything in memory",
        disproven=frozenset({"restart", "crash", "crash-mid-turn"}),
    ),
    "ack-before-commit": Expected(
        "acknowledges first and commits seconds later; a polite stop flushes",
        disproven=frozenset({"crash", "crash-mid-turn"}),
    ),
    "shared-history": Expected(
        "has one history for all contexts",
        disproven=frozenset({"isolation"}),
    ),
    "runs-twice": Expected(
        "runs a message again when it is delivered again",
        disproven=frozenset({"duplicate"}),
    ),
    "overwrites": Expected(
        "reads, changes and writes back the whole history, so one of two parallel turns is lost",
        disproven=frozenset({"parallel"}),
    ),
    "orphans-tasks": Expected(
        "leaves a task that was running at the kill as working, for ever",
        disproven=frozenset({"crash-mid-turn"}),
    ),
}
