"""Sessions out of a store and into another: as portable archives, and as folders of plain files.

Archives go through the store itself (`exports`, `imports`). Plain files go between folders and a source or a
destination, which a command finds behind a gateway's API.
"""

from holdfast.store.transfer.folder_exports import ExportSource, FolderExport, OnProgress, export_folder, export_folders
from holdfast.store.transfer.folder_imports import (
    FolderImport,
    ImportDestination,
    each_head,
    has_session_folders,
    import_folders,
    is_of_the_session,
    undo_import,
)
from holdfast.store.transfer.folder_mirror import FolderMirror
from holdfast.store.transfer.import_record import (
    ImportRecord,
    begin_record,
    origin,
    read_manifest,
    records,
    restore_files,
    unfinished_record,
)
from holdfast.store.transfer.missing_documents import MissingDocuments, SessionDocuments, import_key
from holdfast.store.transfer.recorded_files import RecordedFile

__all__ = [
    "ExportSource",
    "FolderExport",
    "FolderImport",
    "FolderMirror",
    "ImportDestination",
    "ImportRecord",
    "MissingDocuments",
    "OnProgress",
    "RecordedFile",
    "SessionDocuments",
    "begin_record",
    "each_head",
    "export_folder",
    "export_folders",
    "has_session_folders",
    "import_folders",
    "import_key",
    "is_of_the_session",
    "origin",
    "read_manifest",
    "records",
    "restore_files",
    "undo_import",
    "unfinished_record",
]
