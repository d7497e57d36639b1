"""Every error a caller can meet, each with a stable code, an HTTP status and a hint.

A HoldfastError is a refusal or a failure that we foresaw: its message says what happened, its hint what to do,
and its details (plain JSON values) what a program needs to go on. Anything else that is raised is a defect of ours.
Messages often repeat what came from elsewhere, so no secret stays in one; hints are our own words.
"""

from typing import Any, ClassVar

from holdfast.core.redact import redact


class HoldfastError(Exception):
    """What all our errors are."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    hint: str | None = None
    problem: dict[str, Any] | None = None
    """The problem object of another service's refusal, as it came."""

    def __init__(self, message: str, *, hint: str | None = None, **details: Any) -> None:
        self.message = redact(str(message))
        super().__init__(self.message)
        if hint is not None:
            self.hint = hint
        self.details = details

    def after(self, done: str, **details: Any) -> None:
        """Say what was done before the error came, and stays done."""
        self.message = redact(f"{self.message}; {done} before that")
        self.args = (self.message,)
        self.details |= details

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.hint, self.details)


def _rebuild(kind: type[HoldfastError], message: str, hint: str | None, details: dict[str, Any]) -> HoldfastError:
    return kind(message, hint=hint, **details)


class InvalidInput(HoldfastError):
    """The request cannot be understood; sending it again will not help."""

    code = "invalid_input"
    status = 400


class InvalidJson(InvalidInput):
    """The body is not the JSON that we keep; `reason` says which rule it breaks."""

    code = "invalid_json"


class BadArchive(InvalidInput):
    """The archive or folder is not what we write; the details say member, line where there is one, and reason."""

    code = "bad_archive"
    hint = "nothing after this point was read; take another copy of the file, or export again"


class NotFound(HoldfastError):
    """There is no such thing, or it belongs to another tenant."""

    code = "not_found"
    status = 404


class Conflict(HoldfastError):
    """What is there already contradicts the request."""

    code = "conflict"
    status = 409


class SessionGone(HoldfastError):
    """The session was deleted: its id is never used for another, and nothing can be appended to it."""

    code = "session_gone"
    status = 410
    hint = "use another session id; until its archive is purged, it can be undeleted: holdfast sessions undelete ID"


class HistoryChanged(Conflict):
    """What was read before is no part of what is there now: the store was restored, or its database failed over."""

    code = "history_changed"
    hint = "read the sessions again from their beginning, then follow from now"


class SessionArriving(Conflict):
    """The session is still being forked, imported or undeleted."""

    code = "session_arriving"
    hint = "wait until that is done; what was interrupted is undone by itself"


class NotDeleted(Conflict):
    """The session was not deleted, so that nothing is to be undone."""

    code = "not_deleted"
    hint = "it is there: read it, or write to it"


class ArchivePurged(Conflict):
    """What was deleted was removed for good."""

    code = "archive_purged"
    hint = "only a backup from before has it"


class LegalHold(Conflict):
    """The session is under legal hold: it can be neither deleted nor erased."""

    code = "legal_hold"
    hint = "release the hold first"


class EffectUnresolved(Conflict):
    """The effect was started before, and nobody knows whether it happened: it is not run again by itself."""

    code = "effect_unresolved"
    hint = "look whether it happened, then finish it with what you found"


class IdempotencyConflict(Conflict):
    """The key was used before with another body; the first body stands."""

    code = "idempotency_conflict"
    hint = "a key names one write: use a new key for a new body"


class StaleWriter(Conflict):
    """The writer has not seen the newest events; the details carry what it missed."""

    code = "stale_writer"
    hint = "read what you missed, decide again, and append with the new expected_seq"


class StaleState(Conflict):
    """The state has moved on; the details carry the current one."""

    code = "stale_state"
    hint = "merge into the current state and patch with its version"


class LeaseHeld(Conflict):
    """Another writer holds the session's lease."""

    code = "lease_held"
    hint = "wait until the lease is released or expires"


class LeaseLost(Conflict):
    """A newer lease exists: this writer was fenced off."""

    code = "lease_lost"
    hint = "acquire the lease again and read what happened since"


class ConversationHeld(Conflict):
    """Another live process writes the conversation; the details say which."""

    code = "conversation_held"
    hint = "end that process, or fork the conversation and go on with the copy"


class TaskEnded(Conflict):
    """The task has ended, and an ended task never changes."""

    code = "task_ended"
    hint = "send a new message in the same context: it begins a new task"


class TaskNotWaiting(Conflict):
    """The task does not wait for an answer; `state` says what it does."""

    code = "task_not_waiting"
    hint = "read the task again"


class TooLarge(HoldfastError):
    """More than the limit; the details say the limit."""

    code = "too_large"
    status = 413


class Busy(HoldfastError):
    """The queue is full; nothing was written; try again after `retry_after` seconds."""

    code = "busy"
    status = 503
    hint = "try again after the time in Retry-After"


class Closing(HoldfastError):
    """The store is shutting down; nothing was written."""

    code = "closing"
    status = 503
    hint = "try again once the service has restarted"


class StoreUnavailable(HoldfastError):
    """The database cannot be reached; nothing was written."""

    code = "store_unavailable"
    status = 503
    hint = "see whether the database server runs and the store URL is right"


class ReadTimeout(StoreUnavailable):
    """A read took longer than one may, and was ended; nothing was changed."""

    code = "read_timeout"
    hint = "ask for less at a time: a smaller limit, one session, rarer words"


class StoreFailed(HoldfastError):
    """The store has stopped acknowledging (a failed fsync, a replaced file, a dead lane); restart to recover."""

    code = "store_failed"
    status = 503
    hint = "stop the process, look at the disk, start again: what was acknowledged is there"


class StoreTaken(StoreFailed):
    """Another server has taken over the store; this one acknowledges nothing more."""

    code = "store_taken"
    hint = "stop this server: what it acknowledged is in the store, which the other one serves"


class SchemaNewer(StoreFailed):
    """A newer Holdfast has changed the schema while this one ran; this one writes nothing more."""

    code = "schema_newer"
    hint = "stop this gateway and start the newer version: what this one acknowledged is in the store"


class OutcomeUnknown(HoldfastError):
    """The write may or may not have happened."""

    code = "outcome_unknown"
    status = 503
    hint = "send it again with the same idempotency key: it will be applied once"


class StorageFull(HoldfastError):
    """No room on the disk; nothing was written; reads go on."""

    code = "storage_full"
    status = 507
    hint = "make room on the disk that holds the store; writes go on by themselves"


class LogFull(HoldfastError):
    """A reader keeps the write-ahead log from being emptied; nothing was written; reads go on."""

    code = "wal_full"
    status = 503
    hint = "end the process that reads the database file and does not finish; writes go on by themselves"


class Corrupt(HoldfastError):
    """What is stored is not what was written; the details name the first bad event."""

    code = "corrupt"
    status = 500
    hint = "run `holdfast sessions verify`, then restore from a backup; nothing was changed"


class EngineRefused(HoldfastError):
    """The database engine or its settings could lose acknowledged data."""

    code = "engine_refused"
    status = 500


class SchemaUnknown(HoldfastError):
    """The store was written by a newer Holdfast, or is not one of ours."""

    code = "schema_unknown"
    status = 500
    hint = "use the Holdfast version that wrote this store, or a newer one"


class MissingExtra(HoldfastError):
    """An optional part of Holdfast is not installed; the hint is the command that installs it."""

    code = "missing_extra"
    status = 500


class StoreInUse(HoldfastError):
    """Another server holds the data folder, or owns the store."""

    code = "store_in_use"
    status = 409
    hint = "stop that gateway, or use another --data folder"
