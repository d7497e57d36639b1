"""What leaves a store and comes back: the archive, one file that proves itself, and the folders of plain files.

with write_archive(Path("sessions.holdfast")) as archive:
    with archive.session(header) as session:
        session.event(event)

with ArchiveReader(Path("sessions.holdfast")) as archive:
    archive.check()
    for session in archive.sessions():
        for event in session.events: ...
"""

from holdfast.store.portable.archive_reader import ArchivedAttachment, ArchiveReader
from holdfast.store.portable.archive_writer import ArchiveWriter, SessionWriter, write_archive
from holdfast.store.portable.durable import replacing, writing
from holdfast.store.portable.folder_log import FolderLog, read_log
from holdfast.store.portable.folder_reader import SessionFolder, SkippedLine, is_session, read_folder, session_folders
from holdfast.store.portable.folder_writer import FolderWriter, exported_seq
from holdfast.store.portable.limits import Limits
from holdfast.store.portable.lines import SessionHeader, decode_event, encode_event, event_parts
from holdfast.store.portable.manifest import Totals
from holdfast.store.portable.sealed_log import IN_MEMORY, SealedLog, check_event, write_logs
from holdfast.store.portable.session_reader import ArchivedSession

__all__ = [
    "IN_MEMORY",
    "ArchiveReader",
    "ArchiveWriter",
    "ArchivedAttachment",
    "ArchivedSession",
    "FolderLog",
    "FolderWriter",
    "Limits",
    "SealedLog",
    "SessionFolder",
    "SessionHeader",
    "SessionWriter",
    "SkippedLine",
    "Totals",
    "check_event",
    "decode_event",
    "encode_event",
    "event_parts",
    "exported_seq",
    "is_session",
    "read_folder",
    "read_log",
    "replacing",
    "session_folders",
    "write_archive",
    "write_logs",
    "writing",
]
