"""The times and sizes by which an open store works.

They are for programs that open a store, and for tests that must not wait; an operator has nothing to set here. Whatever
they are, the promises hold: a smaller step or a shorter pause changes when something is done, and never whether.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTuning:
    """How long a store waits, and how much it does at once; the values that are not chosen are those of every store."""

    # Lanes
    idle_seconds: float = 0.1
    """For how long nobody must come before a lane does its chores."""
    look_seconds: float = 5.0
    """After which an idle lane looks again for chores that others have left."""
    busy_chore_seconds: float = 2.0
    """After which a lane that is never idle makes one step of a chore."""
    group_seconds: float = 0.010
    """The time at work after which a group is committed, though more writes wait."""

    # Reads and feeds
    read_seconds: float = 5.0
    """How long a read may last: it keeps the database from tidying up behind it."""
    read_bytes: int = 16 * 1024 * 1024
    """What one read of a log takes at most, unless it is one event; a longer stretch is several reads."""
    most_reads: int = 10_000
    """Reads of one length that wait."""
    most_reads_of_a_tenant: int = 1_024
    most_reads_of_a_caller: int = 256
    """Reads of one caller that wait or run."""
    tails_bytes: int = 16 * 1024 * 1024
    """The newest events of all the sessions that are followed; those that were quiet for the longest are read again."""

    # What goes in steps
    step_events: int = 250
    """Events that a step of a fork, an import, a deletion or a purge has at most."""
    step_bytes: int = 2 * 1024 * 1024
    together_events: int = 500
    """Events of short sessions that are imported in one step, which only appends."""
    arrival_ms: int = 10_000
    """How long nothing may be heard of a session on its way in before it is undone."""
    sweep_page: int = 100
    """Attachments that a sweep lists at once."""
    sweep_parts: int = 4
    """Parts of an attachment that a step removes."""
    sweep_looks: int = 32
    """Attachments that a step of the chore looks at."""
    export_page: int = 500
    """Sessions, events or memories that an export reads at once."""
    export_bytes: int = 1024 * 1024
    """Events of several sessions that an export reads at once."""
    archive_page: int = 1_000
    """Events of a deleted session that are read at once."""
    identities_page: int = 50_000
    """Identities that a verification looks through at once."""
    merge_pages: int = 100
    """Pages of a word index that a step rewrites without what was erased."""
    max_attachment: int = 256 * 1024 * 1024

    # A SQLite file
    beat_seconds: float = 5.0
    """How often the owner says that it lives."""
    free_pages: int = 1_024
    """Free pages that stay in the file: what comes next finds room without making it grow."""
    give_back_seconds: float = 0.005
    """How long a step may take that gives free pages back to the disk."""
    copy_pages: int = 2_000
    """Pages that a backup copies at once."""

    # A PostgreSQL server
    lock_seconds: float = 10.0
    """How long a write waits for another that has its session."""
    frozen_seconds: float = 5.0
    """How long the client of an open transaction may say nothing before others take it to stand still."""
    quiet_seconds: float = 3.0
    """How long a statement may go unanswered before the server is asked whether it is still there."""
    probe_seconds: float = 4.0
    """How long that question may go unanswered."""
    schema_look_seconds: float = 1.0
    """How often the listening connection asks the server something: a host that vanished says nothing by itself."""


DEFAULT_TUNING = StoreTuning()
