"""What an operator asks and is told, on the wire."""

from typing import Annotated

from msgspec import Meta, Struct

from holdfast.gateway.wire.types import Body, Document, SessionId, Time

Limit = Annotated[int, Meta(ge=0, le=2**53)]


class TimerView(Struct, rename="camel"):
    """What the gateway does by itself: how often, when it was last done by whichever gateway, and what went wrong."""

    name: str
    every_ms: int
    running: bool
    last_success: Time | None
    last_failure: Time | None
    failure: str | None
    runs: int
    failures: int


class ServerView(Struct, rename="camel"):
    """A gateway that serves the store."""

    url: str
    host: str
    pid: int
    started_at: Time


class LegacyView(Struct, rename="camel"):
    """Sessions in our older layout that the start of the gateway found: how many were imported and how many were here
    before, how many no key routes to, which arrive by `sessions import` only, and how many could not be read."""

    folder: str
    imported: int
    there_before: int
    unreferenced: int
    refused: int


class FilesView(Struct, rename="camel"):
    """The folder in which all sessions are files, and the process that keeps it so: whether it has caught up with what
    was there when it started, how often one was started, and what is wrong, if something is."""

    folder: str
    pid: int | None
    caught_up: bool
    starts: int
    trouble: str | None


class StatusView(Struct, rename="camel"):
    """The gateway and its store. Sessions and events are the tenant's; where things are on the gateway's machine, how
    large the whole store is, what is done for all of it and which gateways share it is told to operators. `store` has
    no password in it, and `figures` are the engine's own. A SQLite store has one gateway, and lists none."""

    version: str
    pid: int | None
    uptime: float
    address: str | None
    dashboard: str | None
    agents: list[str]
    log_file: str | None
    timers: list[TimerView]
    store: str | None
    data_folder: str | None
    engine: str
    engine_version: str
    schema: int
    store_id: str
    size_bytes: int | None
    wal_size_bytes: int | None
    sessions: int
    events: int
    figures: Document
    gateways: list[ServerView]
    legacy: LegacyView | None
    files: FilesView | None


class ImportedView(Struct, rename="camel"):
    """What an import brought; `thereBefore` were here already, `keysTaken` route to other sessions here."""

    sessions: list[str]
    there_before: list[str]
    events: int
    attachments: int
    memories: int
    keys_taken: list[str]


class Verify(Body):
    """Which sessions to verify; null is all of them."""

    sessions: list[SessionId] | None = None


class VerifyLine(Struct, rename="camel", omit_defaults=True):
    """A line of a verification: first `files`, then one per session as it is verified, last `done`."""

    files: list[str] | None = None
    session_id: str | None = None
    ok: bool | None = None
    events: int | None = None
    head_hash: str | None = None
    problem: str | None = None
    bad_seq: int | None = None
    done: bool | None = None
    verified: int | None = None
    bad: int | None = None


class RetentionOrder(Body):
    """How old, how many, how much sessions may be; null sets no limit. `dryRun` deletes nothing."""

    max_age_ms: Limit | None = None
    max_sessions: Limit | None = None
    max_bytes: Limit | None = None
    dry_run: bool = False


class DoomedView(Struct, rename="camel"):
    """A session that the limits end, and why: age, count or size."""

    session_id: str
    reason: str
    updated_at: Time
    size_bytes: int


class RetentionView(Struct):
    """What the limits end, oldest first; what is held and stays; what was deleted."""

    doomed: list[DoomedView]
    held: list[str]
    deleted: list[str]


class BackupOrder(Body):
    """Where to write a backup: an absolute path on the gateway's machine, where nothing is yet."""

    path: Annotated[str, Meta(extra_json_schema={"pattern": r"^/[^\u0000]*$"})]


class DamagedView(Struct, rename="camel"):
    """A session that is in a backup as it was found, and is not what was written."""

    tenant: str
    session_id: str
    problem: str


class BackupView(Struct):
    """A backup that was written and read again; `damaged` names the sessions that were so in the store already, and
    `files` counts the files of the agent's conversations that are in it."""

    path: str
    bytes: int
    sessions: int
    checked: bool
    damaged: list[DamagedView]
    files: int


class ArchivedView(Struct, rename="camel"):
    """A session that was deleted: when and why, and what its log was."""

    session_id: str
    deleted_at: Time
    purged_at: Time | None
    reason: str
    events: int
    head_hash: str
    size_bytes: int


class ArchiveList(Struct):
    """Deleted sessions, oldest first; `cursor` asks for the next page, null at the end."""

    archives: list[ArchivedView]
    cursor: str | None


class UndeletionView(Struct, rename="camel"):
    """A session that is back, with its log as it is now: the keys that route to it again, those that were used again
    meanwhile and stay where they are, and what the deletion took for good, in words."""

    session_id: str
    events: int
    head_hash: str
    keys: list[str]
    keys_taken: list[str]
    not_restored: list[str]


class PurgeOrder(Body):
    """Which archives to remove for good: of these sessions, or of all that were deleted so long ago."""

    sessions: list[SessionId] | None = None
    older_than_ms: Limit | None = None
    dry_run: bool = False


class PurgeView(Struct):
    """The archives that were removed, or would be."""

    purged: list[ArchivedView]


class LogLines(Struct):
    """Lines of the log, oldest first; `cursor` asks for what follows, `truncated` says that some before were removed.

    `file` is the newest log file, and `size` its bytes.
    """

    lines: list[Document]
    cursor: str
    file: str
    size: int
    truncated: bool
