"""Backups of the whole store, and restoring them."""

from holdfast.store.backup.backup import PART, BackedUp, back_up, damaged_sessions, remove_unfinished, restore
from holdfast.store.backup.backup_process import BackupFailed, BackupJob, back_up_apart

__all__ = [
    "PART",
    "BackedUp",
    "BackupFailed",
    "BackupJob",
    "back_up",
    "back_up_apart",
    "damaged_sessions",
    "remove_unfinished",
    "restore",
]
