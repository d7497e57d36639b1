"""The guard: what other programs write in their folders is kept here, line by line, as it comes."""

from holdfast.transcripts.guard.guard import GuardDestination, GuardReport, NewestLine, TranscriptGuard
from holdfast.transcripts.guard.known_files import KnownFiles, LogEnd
from holdfast.transcripts.guard.watch import FolderWatch

__all__ = [
    "FolderWatch",
    "GuardDestination",
    "GuardReport",
    "KnownFiles",
    "LogEnd",
    "NewestLine",
    "TranscriptGuard",
]
