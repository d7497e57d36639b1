"""What leaves a store and comes back: the archive, one file that proves itself, and the folders of plain files.

with write_archive(Path("sessions.holdfast")) as archive:
    with archive.session(header) as session:
        session.event(event)

with ArchiveReader(Path("sessions.holdfast")) as archive:
    archive.check()
    for session in archive.sessions():
        for event in session.events: ...
"""

from holdfast.store.portable.archive_reader import ArchiveReader, Attachment
from holdfast.store.portable.archive_writer import ArchiveWriter, SessionWriter, write_archive
from holdfast.store.portable.durable import replacing
from holdfast.store.portable.folder_reader import SessionFolder, Skipped, read_folder, session_folders
from holdfast.store.portable.folder_writer import FolderWriter
from holdfast.store.portable.limits import Limits
from holdfast.store.portable.lines import SessionHeader
from holdfast.store.portable.manifest import Totals
from holdfast.store.portable.session_reader import ArchivedSession

__all__ = [
    "ArchiveReader",
    "ArchiveWriter",
    "ArchivedSession",
    "Attachment",
    "FolderWriter",
    "Limits",
    "SessionFolder",
    "SessionHeader",
    "SessionWriter",
    "Skipped",
    "Totals",
    "read_folder",
    "replacing",
    "session_folders",
    "write_archive",
]
