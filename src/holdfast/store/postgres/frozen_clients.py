"""Transactions of a process that stands still: others end them, so that nobody waits for it.

A process that is stopped in the middle of a pipelined group keeps its locks, and keeps the feeds from going on, for as
long as that lasts: the server's own timeout for idle transactions does not count while a pipeline waits for its next
message. So whoever has waited for a lock in vain, and a lane now and then, looks for backends with our locks whose
client has said nothing for a while in the middle of a transaction. Ending one by mistake does no harm: its writes are
taken back, and run again or refused.
"""

from collections.abc import Sequence
from typing import Any

from holdfast.store.engine import Tx
from holdfast.store.tuning import StoreTuning

END_FROZEN = """
    SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
      AND a.application_name = current_setting('application_name')
      AND a.xact_start IS NOT NULL AND a.wait_event = 'ClientRead'
      AND a.query_start < clock_timestamp() - CAST(?1 AS float8) * interval '1 second'
      AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted)"""


def end_frozen(tx: Tx, tuning: StoreTuning) -> Sequence[tuple[Any, ...]]:
    """End what stands still; a row for each."""
    return tx.all(END_FROZEN, tuning.frozen_seconds)


def end_frozen_step(tx: Tx, tuning: StoreTuning) -> bool:
    """A chore: end what stands still; there is never more to do."""
    end_frozen(tx, tuning)
    return False
