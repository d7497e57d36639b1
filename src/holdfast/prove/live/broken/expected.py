"""Which step finds which kind of broken gateway: one table, for the tests, the docs and the command line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BrokenGateway:
    """A defect, the step that finds it, by which assertion, and the steps that are not reached because of it."""

    defect: str
    step: str = ""
    assertion: str = ""
    not_reached: frozenset[str] = frozenset()


KINDS = {
    "none": BrokenGateway("none: the honest control, behind the same proxy"),
    "writes-jsonl": BrokenGateway(
        "writes a transcript of its own beside the database", "chat", "no proof-session JSONL"
    ),
    "logs-a-schema-error": BrokenGateway("is healthy and logs a schema error", "chat", "log scan"),
    "forgets-identities": BrokenGateway(
        "loses identity rows of events",
        "identity",
        "transcript identity",
        frozenset({"checkpoints", "recovery"}),
    ),
    "changes-a-legacy-file": BrokenGateway("touches a legacy file on a turn", "chat", "legacy files unchanged"),
    "leaves-the-session": BrokenGateway("says that it deleted a session and keeps it", "cleanup", "cleanup"),
    "restores-elsewhere": BrokenGateway(
        "restores a checkpoint onto another key", "checkpoints", "checkpoint lifecycle"
    ),
    "imports-at-first-read": BrokenGateway(
        "imports legacy sessions when somebody first reads", "startup-import", "startup-import"
    ),
    "tidies-up": BrokenGateway(
        "removes transcripts that nobody names when it starts", "startup-import", "startup-import"
    ),
    "answers-from-a-cache": BrokenGateway(
        "tells a history that it remembers, after the rows are gone", "cleanup", "history equals the transcript's tail"
    ),
    "tells-old-times": BrokenGateway("tells another time of a session than its row", "accessors", "metadata accessors"),
    "forgets-patches": BrokenGateway(
        "acknowledges a change of the metadata and makes none", "patch", "patch projection"
    ),
    "gives-up-at-the-start": BrokenGateway(
        "takes turns that were running for failed when it starts", "recovery", "restart recovery"
    ),
    "archives-nothing": BrokenGateway("deletes a session and keeps none of its events", "cleanup", "cleanup"),
}
