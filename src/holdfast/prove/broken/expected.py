"""Which proofs disprove which kind of broken runtime: one table, for the tests, the docs and for --list."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """A defect and its exact consequences; every proof that is not named here is proven."""

    defect: str
    disproven: frozenset[str] = frozenset()
    not_reached: frozenset[str] = frozenset()


def _kind(defect: str, *disproven: str, not_reached: tuple[str, ...] = ()) -> Expected:
    return Expected(defect, frozenset(disproven), frozenset(not_reached))


KINDS = {
    "none": _kind("none: the honest control"),
    "task-keyed": _kind(
        "keys a conversation by task id, so every turn is a first turn",
        *("name", "stream-cancel", "crash-mid-turn", "parallel", "task-follow-up", "file-later", "long", "both-wires"),
        not_reached=("restart", "crash"),
    ),
    "shared-history": _kind("has one history for all contexts", "isolation"),
    "follows-elsewhere": _kind("takes a message that names only a task for a new conversation", "task-follow-up"),
    "memory-only": _kind(
        "keeps everything in memory",
        *("memory-deep", "restart", "crash", "crash-mid-turn", "file-later"),
    ),
    "ack-before-commit": _kind(
        "acknowledges first and commits a minute later; a polite stop flushes", "crash", "crash-mid-turn"
    ),
    "overwrites": _kind(
        "loads the history, thinks and saves it without a lock, so one of two turns at once is lost",
        "parallel",
    ),
    "forgets-at-compaction": _kind("cuts a history off when it has grown too long", "long"),
    "drops-file-only": _kind("takes a message without words for an empty one", "file-only"),
    "drops-files": _kind("reads the words of a message only", "file-only", "file-caption", "file-later"),
    "forgets-files": _kind("knows a file in the turn that it came in, and not later", "file-later"),
    "memory-in-ram": _kind("has a memory tool that forgets at a restart", "memory-deep"),
    "memory-by-context": _kind("has a memory tool for each context", "memory", "memory-deep"),
    "keeps-the-first": _kind("has a memory tool that never changes what it knows", "memory-deep"),
    "all-talk": _kind("says that it used a skill and does nothing", "tool-use"),
    "makes-up-answers": _kind("makes up what another agent would answer", "peer"),
    "runs-twice": _kind("runs a message again when it is delivered again", "duplicate"),
    "orphans-tasks": _kind("leaves a task that was running at the kill as working, for ever", "crash-mid-turn"),
    "ignores-cancel": _kind("says that a task is canceled and goes on with it", "cancel"),
    "loses-the-tail": _kind("tells who subscribes again what was said until then, and the end", "resubscribe"),
    "dies-with-the-connection": _kind(
        "stops working on a task when its stream is cut, and leaves it as working", "stream-cancel", "resubscribe"
    ),
    "one-wire": _kind("speaks only the version of the protocol that it was first spoken to in", "both-wires"),
}
